/** The settings of the operator's staff. */
import { readJsonOrFile, readSettingFile } from '../banks/files/settings.ts'
import {
  booleanOf,
  fieldsOf,
  nested,
  listOf,
  onOff,
  oneOf,
  optionalText,
  refuseSettingField,
  type Settings,
  textOf,
  url,
} from '../kernel/index.ts'

const staffRoles = ['support', 'compliance', 'finance', 'admin'] as const
const providerFields = ['issuer', 'clientId', 'clientSecretFile', 'roleClaim', 'roles', 'required'] as const
const urlCharsMax = 2000

/** Undefined: none. The secret of the client is read from its file, so that the setting can be printed. */
function readProvider(value: string | undefined, mode: string) {
  if (value === undefined || value.trim() === '') return undefined
  const fields = fieldsOf(readJsonOrFile(value.trim(), '{'), 'the provider', providerFields)
  const issuer = textOf(fields, 'issuer', urlCharsMax)
  const schemes = mode === 'sandbox' ? ['https', 'http'] : ['https']
  if (!URL.canParse(issuer) || url(schemes)(issuer) === undefined)
    return refuseSettingField(fields, 'issuer', `a URL that begins with ${schemes.join(':// or ')}://`)
  const secretFile = textOf(fields, 'clientSecretFile', urlCharsMax)
  const clientSecret = readSettingFile(secretFile, (reason) =>
    refuseSettingField(fields, 'clientSecretFile', reason),
  ).trim()
  if (clientSecret === '') return refuseSettingField(fields, 'clientSecretFile', 'a file with the secret of the client')
  const roleClaim = optionalText(fields, 'roleClaim') ?? null
  const given = fields.given['roles'] === undefined ? undefined : nested(fields, 'roles', staffRoles)
  if ((roleClaim === null) !== (given === undefined))
    return refuseSettingField(fields, 'roles', 'the values of roleClaim for each role, if there is a roleClaim')
  const valuesOf = (role: string) =>
    given === undefined
      ? []
      : listOf(given, role, []).map(([item, path]) => textOf(fieldsOf({ item }, path, ['item']), 'item'))
  const roles = Object.fromEntries(staffRoles.map((role) => [role, valuesOf(role)]))
  return {
    issuer,
    clientId: textOf(fields, 'clientId', urlCharsMax),
    clientSecret,
    roleClaim,
    roles,
    required: booleanOf(fields, 'required', false),
  }
}

export const staffSettings = {
  STAFF_SSO: {
    default: 'none: staff sign in with passkeys or passwords',
    description:
      'Single sign-on of staff by OpenID Connect: JSON, or the path of a file with JSON: `issuer`, `clientId`, `clientSecretFile`, and if wanted `roleClaim` with `roles` (the values that each role needs) and `required` (staff other than admins come by it only). The redirect URI is DESK_URL with `/desk/sso`',
    // What is read holds the secret of the client.
    secret: true,
    read: (value: string | undefined, mode) => readProvider(value, mode),
  },
  KEYS_SET_SINGLE_SIGN_ON: {
    default: 'on in a sandbox; off in production',
    description:
      'Whether a service account with `users:write` sets how the team of its partner signs in. `off`: only an Admin does, in the console',
    read: (value: string | undefined, mode) => onOff(mode === 'sandbox' ? 'on' : 'off')(value),
  },
  TWO_PERSONS: {
    default: 'off in a sandbox; on in production',
    description:
      'Whether changes of limits, fees, approvals, cooling-offs, gates, parts of balances, credentials and staff, and ends of blocks, wait for a second person who has signed in (`operator change list`)',
    read: (value: string | undefined, mode) => oneOf(['on', 'off'], mode === 'sandbox' ? 'off' : 'on')(value),
  },
} as const satisfies Settings
