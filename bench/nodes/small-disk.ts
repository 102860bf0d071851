import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type SmallDisk = { fill(): void; free(): void; unmount(): void }

const ROOM_BYTES = 2 ** 30

/** Mounts a disk of its own at `path`, which is made. It takes memory only for what is written. */
export function mountSmallDisk(path: string): SmallDisk {
  mkdirSync(path, { recursive: true, mode: 0o711 })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${ROOM_BYTES},mode=711`, 'tmpfs', path])
  const resize = (bytes: number) =>
    execFileSync('mount', ['-o', `remount,size=${bytes}`, path], { stdio: ['ignore', 'ignore', 'pipe'] })
  return {
    /** The disk becomes as small as what is on it. That grows meanwhile, and a disk is never made smaller than that. */
    fill() {
      for (let tries = 0; ; tries++)
        try {
          const { blocks, bfree, bsize } = statfsSync(path)
          return void resize((blocks - bfree + tries) * bsize)
        } catch (error) {
          if (tries === 100) throw error
        }
    },
    free: () => void resize(ROOM_BYTES),
    unmount: () => void execFileSync('umount', ['--lazy', path]),
  }
}

/** Why there is no small disk here; null when there is. */
export function withoutSmallDisk(): string | null {
  if (process.platform !== 'linux') return 'mounts a tmpfs: run it on Linux'
  const dir = mkdtempSync(join(tmpdir(), 'kinora-mount-'))
  try {
    mountSmallDisk(dir).unmount()
    return null
  } catch {
    return 'mounts a tmpfs: run it as root'
  } finally {
    rmSync(dir, { recursive: true })
  }
}
