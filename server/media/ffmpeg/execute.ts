import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { copyFile, rename, rm, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { guardProgram } from '../children/serve.ts'
import { FfmpegError, type FfmpegRunner } from './choose.ts'

/** One run of FFmpeg. `args` name files by the keys of `inputs` and `outputs`, whose values are paths on disk. */
export type FfmpegRun = {
  inputs: Readonly<Record<string, string>>
  args: readonly string[]
  outputs: Readonly<Record<string, string>>
  /** Length of what is made, for progress. */
  duration_seconds?: number
  /** Some outputs may be missing after a good run, not all of them. */
  allow_missing?: boolean
}

/** Lines of the log kept for an error. */
const LOG_LINES = 40

/**
 * Runs FFmpeg inside this process (a child of `runChild`, never the server) and returns the names of the outputs written.
 * `scratch` is an empty directory of this run. `report` gets 0 to 1. Throws FfmpegError `failed`.
 */
export async function executeFfmpeg(
  run: FfmpegRun,
  runner: FfmpegRunner,
  { scratch, report }: { scratch: string; report: (progress: number) => void },
): Promise<string[]> {
  const onMicroseconds = (microseconds: number) => {
    if (run.duration_seconds) report(Math.min(1, Math.max(0, microseconds / 1e6 / run.duration_seconds)))
  }
  const place = { scratch, onMicroseconds }
  const written = runner.kind === 'wasm' ? await executeWasm(run, place) : await executeNative(run, runner.path, place)
  return written
}

type Place = { scratch: string; onMicroseconds: (microseconds: number) => void }

async function executeWasm(run: FfmpegRun, { onMicroseconds }: Place): Promise<string[]> {
  const core = await freshCore()
  const log: string[] = []
  core.setLogger(({ message }) => keep(log, message))
  core.setProgress(({ time }) => onMicroseconds(time))
  for (const [name, path] of Object.entries(run.inputs)) core.FS.writeFile(name, readFileSync(path))
  core.exec('-nostdin', '-y', ...guarded(run.args))
  if (core.ret !== 0) throw new FfmpegError('failed', 'FFmpeg could not process the media.', log) // a good run may log `Aborted()` too
  const written: string[] = []
  for (const [name, path] of Object.entries(run.outputs)) {
    if (!core.FS.analyzePath(name).exists) continue
    writeFileSync(path, core.FS.readFile(name))
    written.push(name)
  }
  return checked(run, written, log)
}

async function executeNative(run: FfmpegRun, program: string, { scratch, onMicroseconds }: Place): Promise<string[]> {
  for (const [name, path] of Object.entries(run.inputs)) {
    await symlink(resolve(path), join(scratch, name)).catch(() => copyFile(path, join(scratch, name)))
  }
  const log: string[] = []
  const args = [
    '-nostdin',
    '-y',
    '-nostats',
    '-progress',
    'pipe:1',
    '-filter_complex_threads',
    '1',
    ...guarded(run.args),
  ]
  const child = spawn(program, args, { cwd: scratch, stdio: ['ignore', 'pipe', 'pipe'] })
  guardProgram(child.pid)
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) keep(log, line)
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const found = /out_time_us=(\d+)/.exec(text)
    if (found) onMicroseconds(Number(found[1]))
  })
  const code = await new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail))
  guardProgram(undefined)
  if (code !== 0) throw new FfmpegError('failed', 'FFmpeg could not process the media.', log)
  const written: string[] = []
  for (const [name, path] of Object.entries(run.outputs)) {
    const moved = await rename(join(scratch, name), path).then(
      () => true,
      () => false,
    )
    if (moved) written.push(name)
  }
  for (const name of Object.keys(run.inputs)) await rm(join(scratch, name), { force: true })
  return checked(run, written, log)
}

/** A file may refer to others (playlists, references): no input may open anything but files. */
function guarded(args: readonly string[]): string[] {
  return args.flatMap((arg) => (arg === '-i' ? ['-protocol_whitelist', 'file', '-i'] : [arg]))
}

function checked(run: FfmpegRun, written: string[], log: string[]): string[] {
  const complete = run.allow_missing ? written.length > 0 : written.length === Object.keys(run.outputs).length
  if (!complete) throw new FfmpegError('failed', 'FFmpeg wrote no output.', log)
  return written
}

function keep(log: string[], line: string): void {
  if (line.trim() === '') return
  log.push(line.slice(0, 500))
  if (log.length > LOG_LINES) log.shift()
}

type Core = {
  FS: {
    writeFile(name: string, bytes: Uint8Array): void
    readFile(name: string): Uint8Array
    analyzePath(name: string): { exists: boolean }
  }
  ret: number
  exec(...args: string[]): number
  setLogger(log: (line: { message: string }) => void): void
  setProgress(report: (progress: { time: number }) => void): void
}

type CoreModule = {
  default(options: { instantiateWasm(imports: object, done: (instance: object) => void): object }): Promise<Core>
}

/** Compiled code, as far as it is used here: the types of Node leave WebAssembly to those of browsers. */
type Code = { readonly code: unique symbol }
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { compile(bytes: Uint8Array): Promise<Code>; instantiate(code: Code, imports: object): Promise<object> }
}

/** The glue and the compiled code, a second of processor time: once for the process. */
let loaded: Promise<[CoreModule, Code]> | null = null

/** FFmpeg with empty memory and no files: a run sees nothing of an earlier one. */
async function freshCore(): Promise<Core> {
  loaded ??= load()
  const [{ default: createCore }, code] = await loaded
  return createCore({
    // Emscripten takes the instance when it is there. Source: https://emscripten.org/docs/api_reference/module.html#Module.instantiateWasm
    instantiateWasm: (imports, done) => {
      // A rejection ends the child, which its parent reports; Emscripten would wait for ever.
      void WebAssembly.instantiate(code, imports).then(done)
      return {}
    },
  })
}

async function load(): Promise<[CoreModule, Code]> {
  const browser = globalThis as unknown as { self?: unknown; location?: unknown }
  browser.self ??= globalThis // the module expects both, as in a browser
  browser.location ??= { href: 'file:///' }
  const entry = import.meta.resolve('@ffmpeg/core')
  const code = await WebAssembly.compile(readFileSync(fileURLToPath(new URL('./ffmpeg-core.wasm', entry))))
  return [(await import(entry)) as CoreModule, code]
}
