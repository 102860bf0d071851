/** Everything that is recorded, by what it concerns. Source: docs/operating/administration.md, Who did what. */
export const ACTIONS = [
  'organization.create',
  'organization.plan',
  'organization.members_delete',
  'credits.grant',
  'member.add',
  'member.role',
  'member.remove',
  'invitation.create',
  'invitation.withdraw',
  'invitation.accept',
  'person.password_reset',
  'person.two_factor_reset',
  'api_key.create',
  'api_key.revoke',
  'video.cancel',
  'video.delete',
  'file.delete',
  'share_link.create',
  'share_link.revoke',
  'webhook_endpoint.create',
  'webhook_endpoint.change',
  'webhook_endpoint.rotate_secret',
  'webhook_endpoint.delete',
  'audit.run',
  'configuration.reload',
  'configuration.change',
  'database.move',
  'database.adopt',
  'secret.forget',
  'engine.pause',
  'engine.drain',
  'engine.resume',
  'intake.pause',
  'intake.resume',
  'backup.take',
] as const
export type Action = (typeof ACTIONS)[number]

/** Whoever runs commands on a host. */
export type Operator = { kind: 'operator'; os_user: string; host: string }

/** Who did something. `key_id` null: in the console. */
export type Actor = Operator | { kind: 'person'; user_id: string; key_id: string | null }
