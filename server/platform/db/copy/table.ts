import type pg from 'pg'

/**
 * Streams what `from` selects on one server into `into` on another, in PostgreSQL's own text form, without holding it in memory:
 * `from` is a table or a query in parentheses, with the same columns as `into`. The clients must be doing nothing else.
 * Rejects with the first error of either side.
 * Source: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY
 */
export async function copyRows(
  source: pg.ClientBase,
  target: pg.ClientBase,
  { from, into }: { from: string; into: string },
): Promise<void> {
  const input = await openInput(target, into)
  try {
    await readRows(source, from, input.write)
  } catch (error) {
    await input.fail(error as Error).catch(() => {})
    throw error
  }
  await input.end()
}

/** Takes what was read, whose memory is used again; returns the stream to wait for when it is slower than the server. */
export type WriteChunk = (chunk: Buffer) => NodeJS.EventEmitter | null

/**
 * Streams what `from`, a table or a query in parentheses, selects into `write`: lines in PostgreSQL's text form, cut anywhere. The client
 * must be doing nothing else.
 */
export async function readRows(client: pg.ClientBase, from: string, write: WriteChunk): Promise<void> {
  await runStatement(client, `copy ${from} to stdout`, {
    handleCopyData({ chunk }, wire) {
      const full = write(chunk)
      if (!full) return
      wire.stream.pause()
      void drained(full).then(() => wire.stream.resume())
    },
  })
}

/** The other direction: what `readRows` gave goes `into` a table, written as `table (columns)`. Rejects with the first error. */
export async function writeRows(client: pg.ClientBase, into: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const input = await openInput(client, into)
  try {
    for await (const chunk of chunks) {
      const full = input.write(chunk)
      if (full) await drained(full)
    }
  } catch (error) {
    await input.fail(error as Error).catch(() => {})
    throw error
  }
  await input.end()
}

/** Members of pg's connections that their types leave out. */
type Wire = pg.Connection & {
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

/** How pg speaks to a statement of its queue that is not one of its own. */
type Statement = pg.Submittable & {
  handleError(error: Error): void
  handleReadyForQuery(): void
  handleCommandComplete(): void
  handleCopyInResponse?(wire: Wire): void
  handleCopyData?(message: { chunk: Buffer }, wire: Wire): void
}

type Input = { write: WriteChunk; end(): Promise<void>; fail(reason: Error): Promise<void> }

async function openInput(client: pg.ClientBase, into: string): Promise<Input> {
  const opened = Promise.withResolvers<Wire>()
  const done = runStatement(client, `copy ${into} from stdin`, { handleCopyInResponse: opened.resolve })
  done.catch(opened.reject)
  const wire = await opened.promise
  let failed = false
  done.catch(() => {
    failed = true
  })
  return {
    write(chunk) {
      // A server that has refused a row stops reading; `end` throws its error.
      if (failed) return null
      wire.sendCopyFromChunk(chunk)
      return wire.stream.writableNeedDrain ? wire.stream : null
    },
    end() {
      if (!failed) wire.endCopyFrom()
      return done
    },
    fail({ message }) {
      if (!failed) wire.sendCopyFail(message)
      return done
    },
  }
}

/** Also resolves when the stream closes instead: whoever writes next learns why. */
function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stream.off('drain', end).off('close', end)
      resolve()
    }
    stream.on('drain', end).on('close', end)
  })
}

function runStatement(
  client: pg.ClientBase,
  text: string,
  handlers: Pick<Statement, 'handleCopyInResponse' | 'handleCopyData'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const statement: Statement = {
      submit: (wire) => wire.query(text),
      handleError: reject,
      handleReadyForQuery: () => resolve(),
      handleCommandComplete() {},
      ...handlers,
    }
    client.query(statement)
  })
}
