import Type, { type Static, type TProperties } from 'typebox'
import { listQuery, listSchema } from '../platform/http/list.ts'

/** Shapes of the console's own routes. Source: docs/api/console.md. */
const Strict = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])
const Time = Type.Integer({ description: 'Unix seconds.' })
const Name = Type.String({ minLength: 1, maxLength: 100 })
const Email = Type.String({ minLength: 3, maxLength: 254 })
const NewPassword = Type.String({ minLength: 8, maxLength: 128 })
const Role = Type.Enum(['owner', 'admin', 'member'])

export const SignIn = Strict({ email: Type.String({ maxLength: 254 }), password: Type.String({ maxLength: 1024 }) })
export const SwitchOrganization = Strict({ organization_id: Type.String({ maxLength: 64 }) })
export const ChangePassword = Strict({ current_password: Type.String({ maxLength: 1024 }), new_password: NewPassword })
export const CreateKey = Strict({ name: Name })
export const CreateInvitation = Strict({ email: Email, role: Role })
export const AcceptInvitation = Strict({
  token: Type.String({ minLength: 1, maxLength: 200 }),
  name: Type.Optional(Name),
  password: Type.Optional(NewPassword),
})
export const PreviewInvitation = Strict({ token: Type.String({ minLength: 1, maxLength: 200 }) })
const Code = Type.String({ pattern: '^\\d{6}$', description: 'Six digits of the app.' })
const Proof = {
  code: Type.Optional(Code),
  recovery_code: Type.Optional(
    Type.String({ minLength: 1, maxLength: 40, description: 'Instead of a code; good once.' }),
  ),
}
export const SecondFactor = Strict(Proof)
export const EnrolTwoFactor = Strict({ password: Type.String({ maxLength: 1024 }) })
export const ConfirmTwoFactor = Strict({ code: Code })
export const ProveTwoFactor = Strict({ password: Type.String({ maxLength: 1024 }), ...Proof })
/** Query parameters with which the identity provider sends the browser back. Source: RFC 6749, 4.1.2; RFC 9207. */
export const AuthorizationResponse = Type.Object({
  state: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
  iss: Type.Optional(Type.String()),
})
export type AuthorizationResponse = Static<typeof AuthorizationResponse>
export const ChangeProfile = Strict({ name: Name })
export const ChangeRole = Strict({ role: Role })
const MembersDelete = Type.Enum(['own', 'all'], {
  description:
    'Which videos and files members may delete: their own, or those of everybody. Owners and admins may delete all.',
})
export const ChangeOrganization = Strict({ members_delete: MembersDelete })

export const IDENTITY_PAGE = { default: 100, max: 100 } as const
export const List = Type.Object(listQuery(IDENTITY_PAGE))

const Organization = Type.Object({ id: Type.String(), name: Type.String(), role: Role })

export const OrganizationSettings = Type.Object({
  id: Type.String(),
  object: Type.Literal('organization'),
  members_delete: MembersDelete,
})
export type OrganizationSettings = Static<typeof OrganizationSettings>

export const ConsoleSession = Type.Object({
  object: Type.Literal('console_session'),
  user: Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() }),
  organization: Organization,
  organizations: Type.Array(Organization),
  expires_at: Time,
})
export type ConsoleSession = Static<typeof ConsoleSession>

export const SecondFactorRequired = Type.Object({ object: Type.Literal('two_factor_required') })
export type SecondFactorRequired = Static<typeof SecondFactorRequired>
/** A session, or what is still missing for one. */
export const SignInAnswer = Type.Union([ConsoleSession, SecondFactorRequired])

export const Profile = Type.Object({
  object: Type.Literal('profile'),
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  password: Type.Boolean({ description: 'Signs in with a password.' }),
  oidc: Type.Boolean({ description: 'Signs in with the identity provider.' }),
  two_factor: Type.Boolean({ description: 'Signing in with the password needs a second factor.' }),
})
export type Profile = Static<typeof Profile>

export const TwoFactor = Type.Object({
  object: Type.Literal('two_factor'),
  enabled: Type.Boolean(),
  recovery_codes_left: Nullable(Type.Integer()),
})
export const TwoFactorEnrolment = Type.Object({
  object: Type.Literal('two_factor_enrolment'),
  secret: Type.String({ description: 'Base32, to type into an app. Shown this once.' }),
  uri: Type.String({ description: 'The same as an otpauth URI, to show as a QR code.' }),
})
export const RecoveryCodes = Type.Object({
  object: Type.Literal('recovery_codes'),
  recovery_codes: Type.Array(Type.String(), { description: 'Each signs in once instead of a code. Shown this once.' }),
})

export const LoginSession = Type.Object({
  id: Type.String(),
  object: Type.Literal('login_session'),
  current: Type.Boolean({ description: 'The one that asks.' }),
  organization_id: Nullable(Type.String()),
  user_agent: Nullable(Type.String({ description: 'What the browser called itself when it signed in.' })),
  created_at: Time,
  last_used_at: Time,
  expires_at: Type.Integer({ description: 'When it ends if it is not used.' }),
})
export type LoginSession = Static<typeof LoginSession>
export const LoginSessionList = listSchema(LoginSession)
export const SessionsEnded = Type.Object({ object: Type.Literal('login_sessions_ended'), count: Type.Integer() })

const keyMembers = {
  id: Type.String(),
  object: Type.Literal('api_key'),
  name: Type.String(),
  hint: Type.String({ description: 'Prefix and last four characters.' }),
  created_at: Time,
  last_used_at: Nullable(Time),
  user_id: Type.String(),
}
export const ApiKey = Type.Object(keyMembers)
export type ApiKey = Static<typeof ApiKey>
export const CreatedApiKey = Type.Object({ ...keyMembers, key: Type.String({ description: 'Shown this once.' }) })
export const ApiKeyList = listSchema(ApiKey)

export const Member = Type.Object({
  id: Type.String(),
  object: Type.Literal('member'),
  user_id: Type.String({ description: 'Equals `id`.' }),
  email: Type.String(),
  name: Type.String(),
  role: Role,
  created_at: Time,
})
export type Member = Static<typeof Member>
export const MemberList = listSchema(Member)

const invitationMembers = {
  id: Type.String(),
  object: Type.Literal('invitation'),
  email: Type.String(),
  role: Role,
  status: Type.Enum(['pending', 'accepted', 'rejected', 'canceled']),
  invited_by: Type.String({ description: 'Id of the person.' }),
  created_at: Time,
  expires_at: Time,
}
export const Invitation = Type.Object(invitationMembers)
export type Invitation = Static<typeof Invitation>
export const CreatedInvitation = Type.Object({
  ...invitationMembers,
  token: Type.String({ description: 'Shown this once.' }),
  accept_url: Type.String({ description: 'To hand over: it holds the token.' }),
})
export const InvitationPreview = Type.Object({
  object: Type.Literal('invitation_preview'),
  organization: Type.Object({ name: Type.String() }),
  email: Type.String({ description: 'The address it is for.' }),
  role: Role,
  expires_at: Time,
  has_account: Type.Boolean({
    description: 'The address has an account here: its password is asked for, not a new one.',
  }),
})
export type InvitationPreview = Static<typeof InvitationPreview>
export const InvitationList = listSchema(Invitation)
export const InvitationChoice = Type.Object({
  object: Type.Literal('invitation_choice'),
  email: Type.String({ description: 'The address that they are for.' }),
  invitations: Type.Array(
    Type.Object({
      id: Type.String(),
      organization: Type.Object({ name: Type.String() }),
      role: Role,
      invited_by: Type.String({ description: 'Email address of the person.' }),
      expires_at: Time,
    }),
    { description: 'The newest first.' },
  ),
})
export type InvitationChoice = Static<typeof InvitationChoice>
export const ChooseInvitation = Strict({ invitation_id: Type.String({ maxLength: 64 }) })

export const SignedOut = Type.Object({ success: Type.Literal(true) })
export const Deleted = Type.Object({ id: Type.String(), object: Type.String(), deleted: Type.Literal(true) })

const ActivityEntry = Type.Object({
  id: Type.String(),
  object: Type.Literal('activity_entry'),
  created_at: Time,
  actor: Type.Object({
    kind: Type.Enum(['person', 'operator']),
    user_id: Nullable(Type.String()),
    email: Nullable(Type.String({ description: 'Null once the account has ended.' })),
    key_hint: Nullable(Type.String({ description: 'Of the API key it was done with; null in the console.' })),
  }),
  action: Type.String({ description: 'What was done, such as member.role.' }),
  target: Nullable(Type.String({ description: 'The id of what it was done to.' })),
  details: Type.Object(
    {},
    {
      additionalProperties: Type.Union([Type.String(), Type.Number(), Type.Array(Type.String())]),
      description: 'Names, roles, plans and amounts.',
    },
  ),
})
export type ActivityEntry = Static<typeof ActivityEntry>
export const ActivityList = listSchema(ActivityEntry)
export type ActivityList = Static<typeof ActivityList>
