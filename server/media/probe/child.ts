import { askThread } from './thread.ts'

/**
 * A process of its own, in which a thread reads customers' files: an allocation beyond the thread's heap ends the whole process. It answers each
 * task with one `ThreadReply`, and ends with the service.
 */
process.on('message', async (task) => {
  const answer = await askThread(task)
  process.send?.(answer)
})
process.on('disconnect', () => process.exit())
