import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../sources.ts'

/** What later runs find again. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'kinora')

/**
 * Where the browser of the package `@sparticuz/chromium` lies. The package unpacks itself into the directory for temporary files,
 * where test files that run at the same time would write over each other: each unpacks beside, and the first one's is taken.
 */
export async function chromiumPath(): Promise<string> {
  const home = join(CACHE, `chromium-${packageVersion()}`)
  mkdirSync(CACHE, { recursive: true })
  const path = join(home, 'chromium')
  if (existsSync(path)) return path
  const own = mkdtempSync(`${home}-`)
  const script =
    "const { default: chromium } = await import('@sparticuz/chromium'); console.log(await chromium.executablePath())"
  const env = { ...process.env, TMPDIR: own }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    env,
  })
  if (dirname(stdout.trim()) !== own || basename(stdout.trim()) !== 'chromium') return stdout.trim()
  try {
    renameSync(own, home)
  } catch (error) {
    // Another test file was first.
    rmSync(own, { recursive: true, force: true })
    if (!existsSync(path)) throw error
  }
  return path
}

/** Fonts of the machine and the Japanese font of the packages: without it, screenshots show boxes. */
export function fontsFile(): string {
  const path = join(CACHE, 'fonts.conf')
  const parts = [
    '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>',
    `<dir>${join(ROOT, 'node_modules', '@expo-google-fonts', 'biz-udpgothic')}</dir>`,
    '<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family><family>BIZ UDPGothic</family></prefer></alias>',
    `<cachedir>${join(CACHE, 'fonts')}</cachedir>`,
  ]
  writeFileSync(path, `<?xml version="1.0"?><fontconfig>${parts.join('')}</fontconfig>`)
  return path
}

function packageVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium')
  const { version } = JSON.parse(readFileSync(join(dirname(dirname(entry)), 'package.json'), 'utf8'))
  return String(version)
}
