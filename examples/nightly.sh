#!/bin/sh
# One machine of many runs the nightly job; the others find it busy and go on.
set -eu
# [readme]
holdfast run --wait 0s nightly -- sh -c 'echo "running with token $HOLDFAST_TOKEN"'
holdfast ls    # who holds what, since when, until when, who waits
# [readme]
