#!/usr/bin/env node
// Starts the `kinora` command with Node 24 or newer, whichever Node runs this file: the one that is running when it is new
// enough, else the one installed beside the other dependencies. Old JavaScript on purpose, so that every Node can read it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const server = join(dirname(fileURLToPath(import.meta.url)), '..', 'server')
// The npm package has JavaScript, a checkout the sources: see dev/pack.ts.
const main = ['main.js', 'main.ts'].map((name) => join(server, name)).find((path) => existsSync(path))

if (Number(process.versions.node.split('.')[0]) >= 24) {
  process.argv[1] = main
  await import(pathToFileURL(main).href)
} else {
  startWith(installedNode())
}

function installedNode() {
  try {
    const home = dirname(createRequire(import.meta.url).resolve('node/package.json'))
    const path = join(home, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    if (existsSync(path)) return path
  } catch {
    // Not installed: the message below says what to do.
  }
  process.stderr.write(
    `kinora: needs Node 24 or newer; this is Node ${process.versions.node}. Install it, or let npm run the install script of the package "node", which brings one.\n`,
  )
  process.exit(1)
}

function startWith(node) {
  // The channel closes with this process: a service whose launcher was killed stops.
  const child = spawn(node, [main].concat(process.argv.slice(2)), { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // The terminal sends SIGINT to both; a supervisor sends SIGTERM and SIGHUP to this process alone.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`kinora: cannot start ${node}: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? 128 + (signal === 'SIGTERM' ? 15 : 9) : code
  })
}
