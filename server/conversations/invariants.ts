import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'
import { inNoConversation } from '../responses/stored/store/responses.ts'

/** What is always true of conversations. */
export const conversationInvariants: readonly Invariant[] = [
  {
    invariant: 'I16',
    title: 'no response that is in no conversation is kept an hour past its 30 days',
    broken: (now) => sql`
      select id from responses r where finished_at < ${now}::timestamptz - interval '30 days 1 hour' and ${inNoConversation}`,
  },
  {
    invariant: 'I16',
    title: 'no conversation is kept an hour past 30 days after its last message',
    broken: (now) => sql`select id from conversations where used_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
  {
    invariant: 'I20',
    title: 'a response in a conversation belongs to the person whose conversation it is',
    broken: () => sql`
      select t.response_id from conversation_turns t join conversations c on c.id = t.conversation_id
        join responses r on r.id = t.response_id
      where (r.org_id, r.user_id) is distinct from (c.org_id, c.user_id)`,
  },
  {
    invariant: 'I33',
    title: 'what is counted for the responses and conversations of an organization is what they have',
    broken: () => sql`
      select org_id from (
        select org_id, response_bytes(size_bytes, other_bytes) as bytes from responses
        union all select org_id, conversation_bytes(title, settings) from conversations
        union all select org_id, - bytes from stored_bytes where kind = 'responses') as each
      group by org_id having sum(bytes) <> 0`,
  },
]
