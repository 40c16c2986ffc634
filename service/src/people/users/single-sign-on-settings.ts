/** The provider of a partner: setting it, proving its domain, removing it. Each change is mailed to all Admins. */
import { type BodyOf, type FieldError, ownJson } from '@partner-payments/wire'
import { type Caller, notFound, Refusal, refuseField, refuseFields } from '../../kernel/api/index.ts'
import { after, hourMs, judgeTwo, newId, randomBytes } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeMail, type SignInChange } from './change-mail.ts'
import { byCaller, everyRole, permit, type Permitted } from './giving.ts'
import { byCallerNow } from './makers.ts'
import type { MembersDeps, Signed } from './member-deps.ts'
import { urlErrors } from './rules.ts'
import { clientSecretContext, waitingSecretContext } from './sealed.ts'
import { memberById } from './store.ts'
import * as store from './store-single-sign-on.ts'

export type SingleSignOnView = Omit<store.SingleSignOnRow, 'clientSecretSealed' | 'domainToken' | 'roleValues'> & {
  readonly redirectUri: string
  readonly domainRecord: { readonly name: string; readonly type: 'TXT'; readonly value: string }
  readonly roles: store.RoleValues | null
}

/** A change that waits for a second Admin, as the page shows it. */
export type WaitingSingleSignOn = Omit<store.ChangeRow, 'settings' | 'clientSecretSealed'> &
  Pick<SingleSignOnView, 'issuer' | 'clientId' | 'emailDomain' | 'roleClaim' | 'roles' | 'required'> & {
    readonly hasNewSecret: boolean
  }

export type SingleSignOnSettings = {
  /** Refuses: not_found. */
  readonly settings: (partnerId: string) => Promise<SingleSignOnView>
  /**
   * Sets the provider, or keeps the change of a person until a second Admin confirms it, where payouts wait for a second person. Refuses:
   * permission_denied, validation_failed (pointers), last_admin.
   */
  readonly set: (caller: Caller, body: Body, ip?: string) => Promise<SingleSignOnView>
  /** Undefined: none waits. */
  readonly waiting: (partnerId: string) => Promise<WaitingSingleSignOn | undefined>
  /**
   * Carries out the change of another Admin. Both are Admins at this moment. Refuses: permission_denied, not_found (decided, replaced, or
   * over), and what `set` refuses.
   */
  readonly confirm: (signed: Signed, id: string, ip: string) => Promise<void>
  /** Rejects a change, or withdraws the own one. Refuses: permission_denied, not_found. */
  readonly reject: (signed: Signed, id: string, ip: string) => Promise<void>
  /**
   * Refuses: permission_denied, not_found, validation_failed (/emailDomain), overloaded. Waits for name servers that the partner has chosen.
   */
  readonly proveDomain: (caller: Caller) => Promise<SingleSignOnView>
  /** Refuses: permission_denied, not_found, last_admin. */
  readonly remove: (caller: Caller) => Promise<void>
}

type Body = BodyOf<'setSingleSignOn'>
/** A request that may wait. Its token is that of the DNS record, which can be added meanwhile. */
type Wanted = Body & { readonly domainToken: string }

/** A change waits for a second Admin at most this long, as one of staff does. */
const changeMs = 72 * hourMs

export function createSingleSignOnSettings(deps: MembersDeps): SingleSignOnSettings {
  const { db, clock } = deps
  const view = viewOf(deps)
  return {
    settings: async (partnerId) => {
      const row = await store.singleSignOnOf(db, partnerId)
      if (row === undefined) throw notFound('single sign-on')
      return view(partnerId, row)
    },
    set: (caller, body, ip) => {
      const { partnerId } = caller
      const wanted = { ...body, domainToken: Buffer.from(randomBytes(tokenBytes)).toString('base64url') }
      return db.transaction(async (tx) => {
        const permitted = permit(await byCallerNow(deps, tx, caller), 'setSingleSignOn', everyRole)
        const row = await readied(deps, tx, partnerId, wanted)
        if (caller.signedInAt !== undefined && (await deps.decidesByTwo(tx, partnerId)))
          await propose(deps, tx, permitted, { caller, wanted, ip })
        else await carryOut(deps, tx, permitted, partnerId, row)
        return view(partnerId, row)
      })
    },
    ...createDecisions(deps),
    proveDomain: async (caller) => {
      const { partnerId } = caller
      const permitted = permit(await byCallerNow(deps, db, caller), 'proveSingleSignOnDomain', everyRole)
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
        await carryOut(deps, tx, permitted, partnerId, proved)
        return view(partnerId, proved)
      })
    },
    remove: (caller) => {
      const { partnerId } = caller
      return db.transaction(async (tx) => {
        const permitted = permit(await byCallerNow(deps, tx, caller), 'removeSingleSignOn', everyRole)
        if ((await store.lockSingleSignOn(tx, partnerId)) === undefined) throw notFound('single sign-on')
        await refuseLockedOut(deps, tx, partnerId)
        await store.removeSingleSignOn(tx, permitted, partnerId)
        await tellAdmins(deps, tx, partnerId, 'single sign-on changed')
      })
    },
  }
}

/** Makes the row of a request. Refuses: validation_failed, last_admin. */
async function readied(deps: MembersDeps, tx: Tx, partnerId: string, given: Wanted): Promise<store.SingleSignOnRow> {
  const { clock, sealer, sandbox } = deps
  const emailDomain = given.emailDomain.trim().toLowerCase().replace(/\.$/, '')
  const before = await store.lockSingleSignOn(tx, partnerId)
  refuseFields(errorsOf({ ...given, emailDomain }, { sandbox, hasSecret: before !== undefined }))
  const { issuer, clientId } = given
  if (before !== undefined && before.issuer !== issuer) await refuseLockedOut(deps, tx, partnerId)
  const secret = given.clientSecret ?? null
  const isSame = before?.emailDomain === emailDomain
  const now = clock.now()
  return {
    ...{ issuer, clientId, emailDomain, roleClaim: given.roleClaim ?? null },
    clientSecretSealed:
      secret === null && before !== undefined
        ? before.clientSecretSealed
        : sealer.seal(secret ?? '', clientSecretContext(partnerId)),
    domainToken: isSame ? before.domainToken : given.domainToken,
    domainProvedAt: isSame ? before.domainProvedAt : null,
    roleValues: JSON.stringify(given.roles ?? {}),
    required: given.required ?? false,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

async function carryOut(
  deps: MembersDeps,
  tx: Tx,
  permitted: Permitted,
  partnerId: string,
  row: store.SingleSignOnRow,
): Promise<void> {
  await store.setSingleSignOn(tx, permitted, partnerId, row)
  await tellAdmins(deps, tx, partnerId, 'single sign-on changed')
}

type Proposing = { readonly caller: Caller; readonly wanted: Wanted; readonly ip: string | undefined }

/** Keeps a change whose checks have passed, with its record and mails. */
async function propose(deps: MembersDeps, tx: Tx, permitted: Permitted, { caller, wanted, ip }: Proposing) {
  const { clock, sealer } = deps
  const { partnerId, serviceAccountId: proposedBy, name: proposedByName } = caller
  const { clientSecret = null, ...settings } = wanted
  const now = clock.now()
  const row = {
    ...{ id: newId(), settings: JSON.stringify(settings), proposedBy, proposedByName },
    clientSecretSealed: clientSecret === null ? null : sealer.seal(clientSecret, waitingSecretContext(partnerId)),
    ...{ proposedAt: now, expiresAt: after(now, changeMs) },
  }
  await store.keepChange(tx, permitted, partnerId, row)
  note(deps, tx, row, { caller, action: 'proposeSingleSignOn', ip })
  await tellAdmins(deps, tx, partnerId, 'single sign-on waits')
}

type Noted = { readonly caller: Caller; readonly action: string; readonly ip: string | undefined }

function note({ audit }: MembersDeps, tx: Tx, row: store.ChangeRow, { caller, action, ip }: Noted): void {
  const { partnerId, serviceAccountId: id, name } = caller
  const { issuer, clientId, emailDomain, roleClaim = null, roles = null, required } = ownJson<Wanted>(row.settings)
  const details = { issuer, clientId, emailDomain, roleClaim, roles, required, proposedBy: row.proposedByName }
  const actor = { kind: 'partner', id, name, ...(ip === undefined ? {} : { ip }) } as const
  audit.append(tx, [{ partnerId, actor, action, subject: { changeId: row.id }, details }])
}

function createDecisions(deps: MembersDeps): Pick<SingleSignOnSettings, 'waiting' | 'confirm' | 'reject'> {
  const { db, clock, sealer } = deps
  const take = async (tx: Tx, partnerId: string, id: string) => {
    const change = await store.takeChange(tx, partnerId, id, clock.now())
    if (change === undefined) throw notFound('change of the single sign-on')
    return change
  }
  return {
    waiting: async (partnerId) => {
      const row = await store.changeOf(db, partnerId, clock.now())
      if (row === undefined) return undefined
      const { settings, clientSecretSealed, ...shown } = row
      const { issuer, clientId, emailDomain, roleClaim = null, roles = null, required } = ownJson<Wanted>(settings)
      const wanted = { issuer, clientId, emailDomain, roleClaim, roles, required: required ?? false }
      return { ...shown, ...wanted, hasNewSecret: clientSecretSealed !== null }
    },
    confirm: ({ caller }, id, ip) =>
      db.transaction(async (tx) => {
        const permitted = permit(byCaller(deps, caller), 'decideSingleSignOn', everyRole)
        const { partnerId, serviceAccountId, name } = caller
        const admins = await store.lockAdmins(tx, partnerId)
        const change = await take(tx, partnerId, id)
        const author = { id: change.proposedBy, name: change.proposedByName, may: admins.includes(change.proposedBy) }
        const not = judgeTwo(author, { id: serviceAccountId, name, may: admins.includes(serviceAccountId) })
        if (not !== undefined) throw new Refusal('permission_denied', not.why)
        const sealed = change.clientSecretSealed
        const secret = sealed === null ? {} : { clientSecret: sealer.open(sealed, waitingSecretContext(partnerId)) }
        const row = await readied(deps, tx, partnerId, { ...ownJson<Wanted>(change.settings), ...secret })
        await carryOut(deps, tx, permitted, partnerId, row)
        note(deps, tx, change, { caller, action: 'confirmSingleSignOn', ip })
      }),
    reject: ({ caller }, id, ip) =>
      db.transaction(async (tx) => {
        permit(byCaller(deps, caller), 'decideSingleSignOn', everyRole)
        const change = await take(tx, caller.partnerId, id)
        note(deps, tx, change, { caller, action: 'rejectSingleSignOn', ip })
        await tellAdmins(deps, tx, caller.partnerId, 'single sign-on rejected')
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
  body: Body,
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

async function tellAdmins(
  { mail, clock }: MembersDeps,
  tx: Tx,
  partnerId: string,
  change: SignInChange,
): Promise<void> {
  const at = clock.now()
  for (const id of await store.lockAdmins(tx, partnerId)) {
    const member = await memberById(tx, partnerId, id)
    if (member) await mail.enqueue(tx, partnerId, [changeMail(member, change, { at, ip: '–' })])
  }
}
