type Armed = { name: string; passes_left: number; act: () => void }

// A failpoint kills the process, so there is one for the process.
let armed: Armed | null = null
armFailpoint(process.env.KINORA_FAILPOINT)

/**
 * A place where the crash suite may kill the process. `KINORA_FAILPOINT=name:n` kills it with SIGKILL, as a
 * power cut would, the n-th time it passes `name`. Costs one comparison otherwise.
 */
export function failpoint(name: string): void {
  if (armed === null || armed.name !== name) return
  armed.passes_left -= 1
  if (armed.passes_left > 0) return
  const { act } = armed
  armed = null
  act()
}

/** Arms one failpoint, `name:n` or `name` for its first pass, or none. Tests inside the process give their own `act`. */
export function armFailpoint(spec: string | undefined, act: () => void = die): void {
  const [name, passes = '1'] = (spec ?? '').split(':')
  armed = name ? { name, passes_left: Number(passes), act } : null
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}
