-- Run once by the image of PostgreSQL on an empty data directory: config/compose.yaml, profile replicas.
-- The one secret is the address of Cofferer's database. Its password becomes that of the role, and the administrator,
-- whose password the image took the whole address for, gets none: it connects within the container alone.
\set password `printenv POSTGRES_PASSWORD | sed 's|^postgres://cofferer:\([^@/]*\)@.*|\1|'`
CREATE ROLE cofferer LOGIN PASSWORD :'password';
CREATE DATABASE cofferer OWNER cofferer;
ALTER ROLE postgres PASSWORD NULL;
