#!/bin/sh
# Submits a job, waits for it and downloads clip.mp4. Set KINORA_BASE_URL and KINORA_API_KEY.
set -eu
videos="$KINORA_BASE_URL/v1/videos"
call() { curl --fail-with-body -sS -H "Authorization: Bearer $KINORA_API_KEY" "$@"; }
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# The key makes it safe to retry after a lost connection: only one job is created.
id=$(call "$videos" -H 'Content-Type: application/json' -H "Idempotency-Key: example-$(date +%s)-$$" \
  -d '{"model": "storyboard-1", "prompt": "A paper boat on a calm lake. <d>Ahoy!</d>", "seconds": 4, "aspect_ratio": "16:9"}' | field id)
while :; do
  status=$(call "$videos/$id" | field status)
  echo "$id $status"
  case $status in
    completed) break ;;
    failed | canceled) call "$videos/$id" && exit 1 ;;
  esac
  sleep "${POLL_SECONDS:-10}"
done
call "$videos/$id/content" -o clip.mp4
