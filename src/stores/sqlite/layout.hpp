// stores/sqlite/layout.hpp: the tables, as steps from each version to the next.
//
// A new file goes through all of them, an older file through those it lacks. A released step never
// changes. All times are microseconds of CLOCK_BOOTTIME in the boot that `meta` names.
#pragma once

#include <array>

#include "stores/sqlite/database.hpp"

namespace holdfast::stores::sqlite {

inline constexpr std::array<const char*, layout_version> layout_steps{
    // 1: claims. `used_us` is exact to an hour only, so that a name in use rarely moves in its
    // index.
    R"(
    CREATE TABLE meta (
      key TEXT PRIMARY KEY NOT NULL,
      value NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE names (
      name BLOB PRIMARY KEY NOT NULL,
      kind INTEGER NOT NULL,
      capacity INTEGER NOT NULL,
      number INTEGER NOT NULL,
      delay_us INTEGER NOT NULL,
      delay_until_us INTEGER NOT NULL,
      used_us INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX names_by_use ON names (used_us);
    CREATE TABLE claims (
      name BLOB NOT NULL,
      position INTEGER NOT NULL,
      id BLOB NOT NULL,
      standing INTEGER NOT NULL,
      revoked INTEGER NOT NULL,
      weight INTEGER NOT NULL,
      number INTEGER NOT NULL,
      ttl_us INTEGER NOT NULL,
      since_us INTEGER NOT NULL,
      expires_us INTEGER NOT NULL,
      lock_delay_us INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      nonce INTEGER NOT NULL,
      about BLOB NOT NULL,
      PRIMARY KEY (name, position)
    ) WITHOUT ROWID;
    )",
    // 2: cells.
    R"(
    CREATE TABLE cells (
      name BLOB PRIMARY KEY NOT NULL,
      number INTEGER NOT NULL,
      version INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      expiry_ms INTEGER NOT NULL,
      expires_us INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX cells_by_expiry ON cells (expires_us) WHERE expires_us > 0;
    )",
    // 3: a floor under the numbers of new names. Before, a name that was swept away began again at
    // 1. A file that was in use (its meta is not empty) does not tell how far such names had
    // counted, so its floor is 2^44: 10,000 grants a second for 55 years.
    R"(
    INSERT INTO meta
      SELECT 'floor', iif(EXISTS (SELECT 1 FROM meta), '17592186044416', '0');
    )",
    // 4: a running lock_delay is the claim that it came from, so that the claim's holder can
    // release it. Nobody can release those that run already, so they become claims of nobody.
    R"(
    INSERT INTO claims
      SELECT name, ifnull((SELECT max(position) FROM claims WHERE claims.name = names.name), 0) + 1,
        randomblob(16), 3, 0, capacity, number, delay_us, 0, delay_until_us, delay_us, 0, 0, x''
      FROM names WHERE delay_until_us > 0;
    ALTER TABLE names DROP COLUMN delay_us;
    ALTER TABLE names DROP COLUMN delay_until_us;
    )",
};

}  // namespace holdfast::stores::sqlite
