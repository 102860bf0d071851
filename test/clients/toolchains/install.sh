#!/usr/bin/env bash
# Installs the clients, generators and judges that do not come from npm, each where its toolchain is: Python, Go, and Git for the
# acceptance suite of Open Responses. Tests that need one are skipped without it. They go to $KINORA_TOOLCHAINS, by default to
# ~/.cache/kinora-toolchains.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=${KINORA_TOOLCHAINS:-$HOME/.cache/kinora-toolchains}
mkdir -p "$to"

python_packages() {
  python3 -m venv "$to/python" && "$to/python/bin/pip" install --quiet --requirement "$here/requirements.txt"
}

# The generator, and in the module cache what generated clients import.
oapi_codegen() {
  GOBIN="$to/go" go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 &&
    rm -rf "$to/go/imports" && mkdir -p "$to/go/imports" && cd "$to/go/imports" &&
    go mod init imports && go get github.com/oapi-codegen/runtime@v1.9.0 gopkg.in/validator.v2@v2.0.1
}

open_responses() {
  local commit=92c12d9
  [ -d "$to/openresponses" ] || git clone --quiet https://github.com/openresponses/openresponses "$to/openresponses" || return
  git -C "$to/openresponses" checkout --quiet "$commit" ||
    { git -C "$to/openresponses" fetch --quiet origin && git -C "$to/openresponses" checkout --quiet "$commit"; } || return
  mkdir -p "$to/openresponses-runner" && npm install --silent --prefix "$to/openresponses-runner" zod@3.25.76 tsx@4.23.15 &&
    ln -sfn "$to/openresponses-runner/node_modules" "$to/openresponses/node_modules"
}

install() {
  local tool=$1 name=$2
  if ! command -v "$tool" > /dev/null; then
    echo "$name: $tool is not there"
  elif ("$name") > "$to/$name.log" 2>&1; then
    echo "$name: installed"
  else
    echo "$name: failed, see $to/$name.log"
  fi
}

install python3 python_packages
install go oapi_codegen
install git open_responses
