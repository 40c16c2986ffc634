/** The provider of a partner: setting it, proving its domain, removing it. Each change is mailed to all Admins. */
import { type BodyOf, type FieldError, ownJson } from '@partner-payments/wire'
import { type Caller, notFound, Refusal, refuseField, refuseFields } from '../../api/index.ts'
import { randomBytes } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeMail } from './change-mail.ts'
import type { MembersDeps } from './member-deps.ts'
import { urlErrors } from './rules.ts'
import { clientSecretContext } from './sealed.ts'
import { memberById } from './store-members.ts'
import * as store from './store-single-sign-on.ts'

export type SingleSignOnView = Omit<store.SingleSignOnRow, 'clientSecretSealed' | 'domainToken' | 'roleValues'> & {
  readonly redirectUri: string
  readonly domainRecord: { readonly name: string; readonly type: 'TXT'; readonly value: string }
  readonly roles: store.RoleValues | null
}

export type SingleSignOnSettings = {
  /** Refuses: not_found. */
  readonly settings: (partnerId: string) => Promise<SingleSignOnView>
  /** Refuses: validation_failed (pointers), last_admin. */
  readonly set: (caller: Caller, body: BodyOf<'setSingleSignOn'>) => Promise<SingleSignOnView>
  /** Refuses: not_found, validation_failed (/emailDomain), overloaded. Waits for name servers that the partner has chosen. */
  readonly proveDomain: (partnerId: string) => Promise<SingleSignOnView>
  /** Refuses: not_found, last_admin. */
  readonly remove: (caller: Caller) => Promise<void>
}

export function createSingleSignOnSettings(deps: MembersDeps): SingleSignOnSettings {
  const { db, clock, sealer, sandbox } = deps
  const view = viewOf(deps)
  return {
    settings: async (partnerId) => {
      const row = await store.singleSignOnOf(db, partnerId)
      if (row === undefined) throw notFound('single sign-on')
      return view(partnerId, row)
    },
    set: ({ partnerId }, body) =>
      db.transaction(async (tx) => {
        const emailDomain = body.emailDomain.trim().toLowerCase().replace(/\.$/, '')
        const before = await store.lockSingleSignOn(tx, partnerId)
        refuseFields(errorsOf({ ...body, emailDomain }, { sandbox, hasSecret: before !== undefined }))
        const { issuer, clientId } = body
        if (before !== undefined && before.issuer !== issuer) await refuseLockedOut(deps, tx, partnerId)
        const secret = body.clientSecret ?? null
        const isSame = before?.emailDomain === emailDomain
        const now = clock.now()
        const row: store.SingleSignOnRow = {
          ...{ issuer, clientId, emailDomain, roleClaim: body.roleClaim ?? null },
          clientSecretSealed:
            secret === null && before !== undefined
              ? before.clientSecretSealed
              : sealer.seal(secret ?? '', clientSecretContext(partnerId)),
          domainToken: isSame ? before.domainToken : Buffer.from(randomBytes(tokenBytes)).toString('base64url'),
          domainProvedAt: isSame ? before.domainProvedAt : null,
          roleValues: JSON.stringify(body.roles ?? {}),
          required: body.required ?? false,
          createdAt: before?.createdAt ?? now,
          updatedAt: now,
        }
        await store.setSingleSignOn(tx, partnerId, row)
        await tellAdmins(deps, tx, partnerId)
        return view(partnerId, row)
      }),
    proveDomain: async (partnerId) => {
      const row = await store.singleSignOnOf(db, partnerId)
      if (row === undefined) throw notFound('single sign-on')
      if (row.domainProvedAt !== null) return view(partnerId, row)
      await refuseUnproved(deps, partnerId, view(partnerId, row))
      return db.transaction(async (tx) => {
        const now = await store.lockSingleSignOn(tx, partnerId)
        if (now === undefined) throw notFound('single sign-on')
        // It was set again while its record was read.
        if (now.domainToken !== row.domainToken) return view(partnerId, now)
        const proved = { ...now, domainProvedAt: clock.now(), updatedAt: clock.now() }
        await store.setSingleSignOn(tx, partnerId, proved)
        await tellAdmins(deps, tx, partnerId)
        return view(partnerId, proved)
      })
    },
    remove: ({ partnerId }) =>
      db.transaction(async (tx) => {
        if ((await store.lockSingleSignOn(tx, partnerId)) === undefined) throw notFound('single sign-on')
        await refuseLockedOut(deps, tx, partnerId)
        await store.removeSingleSignOn(tx, partnerId)
        await tellAdmins(deps, tx, partnerId)
      }),
  }
}

const tokenBytes = 24

const viewOf =
  ({ redirectUri }: MembersDeps) =>
  (partnerId: string, row: store.SingleSignOnRow): SingleSignOnView => {
    const { clientSecretSealed: _secret, domainToken, roleValues, ...shown } = row
    const value = `partner-payments-domain=${domainToken}`
    return {
      ...shown,
      redirectUri: redirectUri(partnerId),
      domainRecord: { name: `_partner-payments.${row.emailDomain}`, type: 'TXT', value },
      roles: row.roleClaim === null ? null : ownJson<store.RoleValues>(roleValues),
    }
  }

/** A name of at least two labels (RFC 1035, section 2.3.1), in lower case. */
const domainForm = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

function errorsOf(
  body: BodyOf<'setSingleSignOn'>,
  { sandbox, hasSecret }: { readonly sandbox: boolean; readonly hasSecret: boolean },
): readonly FieldError[] {
  const invalid = (pointer: string, message: string): FieldError => ({ pointer, code: 'invalid_value', message })
  const { roleClaim = null, roles = null } = body
  const values = Object.values(roles ?? {}).flat()
  return [
    ...urlErrors('/issuer', body.issuer, { sandbox, example: 'https://id.example.com' }),
    ...(/[?#]/.test(body.issuer) ? [invalid('/issuer', 'must have no query and no fragment')] : []),
    ...(domainForm.test(body.emailDomain) ? [] : [invalid('/emailDomain', 'must be a domain such as acme.example')]),
    ...(hasSecret || (body.clientSecret ?? null) !== null
      ? []
      : [invalid('/clientSecret', 'must be given, because there is none yet')]),
    ...(roleClaim !== null && values.length === 0
      ? [invalid('/roles', 'must have a value for a role, because there is a roleClaim')]
      : []),
    ...(roleClaim === null && values.length > 0 ? [invalid('/roleClaim', 'must be given with roles')] : []),
  ]
}

/** Refuses (409) a change after which no Admin could sign in: each one came by the provider only. */
async function refuseLockedOut({ signIn }: MembersDeps, tx: Tx, partnerId: string): Promise<void> {
  const admins = await store.lockAdmins(tx, partnerId)
  if (admins.length === 0) return
  const own = (await signIn.factorsOf(tx, partnerId, admins)).filter(({ factor }) => factor !== 'sso')
  if (own.length === 0)
    throw new Refusal(
      'last_admin',
      'No Admin has a passkey or a password: one of them adds one on the page “Sign-in” first.',
    )
}

/** Top-level domains that RFC 2606 keeps for examples and tests. */
const reserved = /\.(?:example|test)$/

/** Refuses (400): the record is absent, has another value, or could not be read. */
async function refuseUnproved(
  { resolveTxt, sandbox }: MembersDeps,
  partnerId: string,
  { emailDomain, domainRecord }: SingleSignOnView,
) {
  if (sandbox && reserved.test(emailDomain)) return
  const { name, value } = domainRecord
  const refuse = (message: string) => refuseField({ pointer: '/emailDomain', code: 'invalid_value', message })
  const found = await resolveTxt(partnerId, name).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    const { code } = error as { readonly code?: string }
    throw refuse(
      code === 'ENOTFOUND' || code === 'ENODATA'
        ? `has no TXT record ${name}. A new record can take hours to be seen`
        : `could not be looked up: its name servers did not answer. Try again`,
    )
  })
  if (!found.includes(value)) throw refuse(`has a TXT record ${name} with another value: it has to be ${value}`)
}

async function tellAdmins({ mail, clock }: MembersDeps, tx: Tx, partnerId: string): Promise<void> {
  const at = clock.now()
  for (const id of await store.lockAdmins(tx, partnerId)) {
    const member = await memberById(tx, partnerId, id)
    if (member) await mail.enqueue(tx, partnerId, [changeMail(member, 'single sign-on changed', { at, ip: '–' })])
  }
}
