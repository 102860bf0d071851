import { hashKey, mintKey } from '../../server/identity/keys/format.ts'
import type { BenchService } from '../support/service.ts'

/** Makes `count` organizations with credit, one person's key in each, and returns the keys. */
export async function makeOrganizations({ pool, user_id }: BenchService, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => mintKey('kin'))
  const ids = keys.map((_, i) => `org_bench_${i}`)
  const hashes = keys.map((key) => Buffer.from(hashKey(key), 'hex'))
  await pool.query(
    `with made as (
       insert into organizations (id, name, name_key, slug, plan, created_at)
       select id, id, id, id, (select plan from organizations limit 1), now() from unnest($1::text[]) as id returning id
     ), joined as (
       insert into members (id, org_id, user_id, role, created_at) select 'member_' || id, id, $3, 'owner', now() from made returning org_id
     ), opened as (
       insert into accounts (org_id, balance) select id, 10000000000000 from made returning org_id
     ), granted as (
       insert into ledger_entries (id, org_id, kind, amount, note, created_at)
       select 'entry_' || org_id, org_id, 'grant', 10000000000000, 'Bench', now() from opened
     ), agreed as (
       insert into video_acceptances (org_id, user_id, terms_version, session_id, accepted_at)
       select id, $3, '2026-11-01', 'bench', now() - interval '60 days' from made
     )
     insert into api_keys (id, org_id, user_id, name, key_hash, hint, created_at)
     select 'key_' || org_id, org_id, $3, 'bench', hash, 'bench', now()
     from unnest($1::text[], $2::bytea[]) as k (org_id, hash) join joined using (org_id)`,
    [ids, hashes, user_id],
  )
  return keys
}
