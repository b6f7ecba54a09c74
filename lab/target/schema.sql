-- Identifiers are ASCII compared byte by byte: under a case-insensitive
-- collation "a" and "A" would be one payment. Times are UTC (the session says so).

CREATE TABLE IF NOT EXISTS payments (
  id              VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  mode            VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  amount          BIGINT NOT NULL COMMENT 'minor units',
  account         INT UNSIGNED NOT NULL,
  state           VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  gateway         VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  gateway_status  VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at      TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  persisted_at    TIMESTAMP(6) NULL DEFAULT NULL COMMENT 'set when CONFIRMED',
  PRIMARY KEY (id),
  KEY run_id (run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS idempotency_keys (
  idempotency_key VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  payment_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at      TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (idempotency_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS ledger_entries (
  payment_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  side            VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'debit or credit',
  account         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  amount          BIGINT NOT NULL,
  created_at      TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (payment_id, side)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS audit_log (
  id              BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  payment_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  change_made     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at      TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (id),
  KEY payment_id (payment_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS outbox (
  id              BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  payment_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  topic           VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  created_at      TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (id),
  KEY payment_id (payment_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Payments whose gateway has not responded. An index on payments.state instead would
-- cost every payment three index changes.
CREATE TABLE IF NOT EXISTS pending_payments (
  payment_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  due_at          TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) COMMENT 'when the gateway is queried (again)',
  asked           INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'number of queries so far',
  PRIMARY KEY (payment_id),
  KEY due_at (due_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS accounts (
  id              INT UNSIGNED NOT NULL,
  balance         BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS gateway_routes (
  mode            VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  gateway         VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (mode)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- id is not unique on purpose: the ledger must see an event that is stored twice.
CREATE TABLE IF NOT EXISTS events (
  seq             BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id              VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name            VARCHAR(128) NOT NULL,
  value           DOUBLE NOT NULL,
  persisted_at    TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (seq),
  KEY run_id (run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Rows of single-threaded writers that bypass the service, which never writes here. id
-- is not unique for the same reason.
CREATE TABLE IF NOT EXISTS writer_log (
  seq             BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  id              VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  run_id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  writer          INT UNSIGNED NOT NULL,
  message         VARCHAR(255) NOT NULL,
  persisted_at    TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (seq),
  KEY run_id (run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
