# A tag moves. docs/operations.md has the command that pins it by its digest.
ARG NODE_IMAGE=node:24-slim
FROM $NODE_IMAGE AS deps
WORKDIR /app
COPY package.json package-lock.json ./
# The optional packages bring a Node of their own and a type checker; the image has its Node and checks nothing.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM $NODE_IMAGE AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Cofferer" \
      org.opencontainers.image.description="Unattended treasury agent for a ledger gateway" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production \
    COFFERER_DATA_DIR=/data
WORKDIR /app
COPY --from=deps /app/node_modules ./node_modules
COPY --chmod=0444 LICENSE package.json ./
# Readable for the user below whatever the umask of the checkout was, and writable for nobody.
COPY --chmod=0555 src ./src
# Compiled once, and written by nobody afterwards: each start takes half the processor time. Node keeps it by user.
RUN install -d -o 10001 -g 10001 node_modules/.cache \
  && setpriv --reuid=10001 --regid=10001 --clear-groups src/cofferer.sh --version \
  && chown -R 0:0 node_modules/.cache \
  && chmod -R a=rX node_modules/.cache
# A new volume takes owner and mode from here.
RUN install -d -o 10001 -g 10001 -m 0700 /data
USER 10001:10001
VOLUME ["/data"]
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
  CMD ["/app/src/health.sh"]
ENTRYPOINT ["/app/src/cofferer.sh"]
CMD ["run", "/config/treasury.yaml"]
