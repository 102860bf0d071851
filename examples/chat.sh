#!/bin/sh
# A plain answer, then a streamed one. Set KINORA_BASE_URL and KINORA_API_KEY.
set -eu
chat() {
  curl --fail-with-body -sSN "$KINORA_BASE_URL/v1/chat/completions" \
    -H "Authorization: Bearer $KINORA_API_KEY" -H 'Content-Type: application/json' -d "$1"
}
chat '{"model": "sandbox-1", "messages": [{"role": "user", "content": "Say hello to Paris."}]}'
echo
chat '{"model": "sandbox-1", "messages": [{"role": "user", "content": "And to Rome."}], "stream": true, "stream_options": {"include_usage": true}}'
