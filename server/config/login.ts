import Type from 'typebox'

/** An identity provider must use https unless it runs on this machine. */
const ISSUER = '^(https://[^?#\\s]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:\\d+)?(/[^?#\\s]*)?)$'

/** The identity provider of `login.oidc`. */
export const Oidc = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 60, description: 'The name of the provider on the sign-in page.' }),
    issuer: Type.String({
      pattern: ISSUER,
      description: 'Exactly as in its discovery document and its ID tokens.',
      patternErrorMessage: 'must begin with https:// (http:// is allowed only for this machine) and have no query',
    }),
    client_id: Type.String({ minLength: 1 }),
    client_secret: Type.String({ minLength: 1, description: 'Best taken from an environment variable.' }),
    scopes: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
          patternErrorMessage: 'must be a word without spaces',
        }),
        {
          description: 'Default openid, email and profile. openid is always requested.',
        },
      ),
    ),
  },
  { additionalProperties: false },
)
