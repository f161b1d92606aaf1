#!/bin/sh
# A user of Redis that may do what holdfast needs, and nothing else.
set -e
# [acl]
redis-cli ACL SETUSER locks reset on '>SECRET' '~hf:*' resetchannels '&hf:*' \
  +evalsha +eval +script\|load +script\|exists +subscribe +publish +ping +info +scan \
  +client\|setname +select +time +wait +get +set +del +exists +pttl +pexpire +persist \
  +hget +hmget +hset +hdel +hgetall +hkeys +hincrby
# [acl]
