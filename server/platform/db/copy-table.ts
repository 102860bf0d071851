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
  const input = await openInput(target, `copy ${into} from stdin`)
  try {
    await readAll(source, `copy ${from} to stdout`, input.write)
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

/** Writes rows; `write` returns the stream to wait for when the server is slower than we are. */
type Input = {
  write(chunk: Buffer): NodeJS.EventEmitter | null
  end(): Promise<void>
  fail(reason: Error): Promise<void>
}

async function openInput(client: pg.ClientBase, text: string): Promise<Input> {
  const opened = Promise.withResolvers<Wire>()
  const done = runStatement(client, text, { handleCopyInResponse: opened.resolve })
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

async function readAll(client: pg.ClientBase, text: string, write: Input['write']): Promise<void> {
  await runStatement(client, text, {
    handleCopyData({ chunk }, wire) {
      const full = write(chunk)
      if (!full) return
      wire.stream.pause()
      full.once('drain', () => wire.stream.resume())
    },
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
