#!/bin/sh
# Submits a job, waits for it and downloads clip.mp4. KINORA_BASE_URL and KINORA_API_KEY say where and who.
set -eu
videos="$KINORA_BASE_URL/v1/videos"
call() { curl --fail-with-body -sS -H "Authorization: Bearer $KINORA_API_KEY" "$@"; }
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# The key makes it safe to send this again when the connection is lost: there will be one job.
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
