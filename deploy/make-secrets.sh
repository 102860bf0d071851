#!/bin/sh
# Makes the secrets of compose.yaml in deploy/secrets, once: what is there stays. Run it as root, or as user 1000, which the image runs as.
set -eu
umask 077
dir="$(dirname "$0")/secrets"
mkdir -p "$dir"
cd "$dir"
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
for name in kinora_secret postgres_password s3_password; do
  [ -s "$name" ] || random > "$name"
done
# A line of https://www.postgresql.org/docs/18/libpq-pgpass.html, and a profile as the AWS SDK reads it.
printf 'postgres:5432:kinora:kinora:%s\n' "$(cat postgres_password)" > pgpass
printf '[default]\naws_access_key_id = kinora\naws_secret_access_key = %s\n' "$(cat s3_password)" > s3_credentials
if [ "$(id -u)" = 0 ]; then
  chown 1000:1000 . kinora_secret pgpass s3_credentials
fi
