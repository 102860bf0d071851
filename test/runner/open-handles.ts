/** How many servers listen and how many child processes run in this process, without those that later files share. */
export function openHandles(): { servers: number; processes: number } {
  const open = process.getActiveResourcesInfo()
  const count = (kind: string) => open.filter((each) => each === kind).length
  return {
    servers: count('TCPServerWrap') + count('PipeServerWrap'),
    processes: count('ProcessWrap') - shared_processes,
  }
}

let shared_processes = 0

/** Counts one more child process, such as the browser, that later files share. */
export function shareProcess(): void {
  shared_processes += 1
}

/** What was opened since `before` and is still open after two seconds; empty when nothing is. */
export async function leftOpen(before: ReturnType<typeof openHandles>): Promise<string> {
  const until = performance.now() + 2000
  for (;;) {
    const now = openHandles()
    const left = { servers: now.servers - before.servers, processes: now.processes - before.processes }
    const named = Object.entries(left).filter(([, count]) => count > 0)
    if (named.length === 0 || performance.now() > until)
      return named.map(([kind, count]) => `${count} ${kind}`).join(', ')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
