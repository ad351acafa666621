# A tag moves. docs/operations.md has the command that pins it by its digest.
ARG NODE_IMAGE=node:24-slim
FROM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json ./
# With the development packages: they bring the bundler. None of them reaches the image.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY LICENSE ./
COPY .ci/bundle.ts ./.ci/
COPY config/sandbox.yaml ./config/
# Readable for the user below whatever the umask of the checkout was, and writable for nobody.
COPY --chmod=0555 src ./src
RUN node .ci/bundle.ts /image

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
COPY --from=build /image ./
# What a first run on play money compiled is kept, and written by nobody afterwards. Node keeps it by user.
RUN install -d -o 10001 -g 10001 node_modules/.cache \
  && setpriv --reuid=10001 --regid=10001 --clear-groups timeout --preserve-status 20 \
    src/cofferer.sh run --sandbox config/sandbox.yaml --data /tmp/first \
  && rm -r /tmp/first \
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
