-- The last audit of the invariants, one row: every process reads here whether new video jobs are taken.
create table audit_state (
  single boolean primary key default true check (single),
  checked_at timestamptz not null,
  -- Of I1 to I4, those that were broken.
  broken text[] not null
);

-- An invitation ends with the right to send it. Those of people who were given a lower role before that rule end now.
update invitations set status = 'canceled'
from members
where invitations.status = 'pending' and members.org_id = invitations.org_id and members.user_id = invitations.inviter_id
  and (members.role = 'member' or (members.role = 'admin' and invitations.role = 'owner'));
