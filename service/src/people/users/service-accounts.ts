/** The service accounts of a partner, which its own people and keys manage. `access` owns the rows. */
import { type BodyOf, type FieldError, type QueryOf, serviceAccounts as wire } from '@partner-payments/wire'
import {
  type Access,
  type IssuedCredential,
  type Issuer,
  type ListedCredential,
  publicKeyMistake,
  parseNetwork,
} from '../../access/index.ts'
import { type Caller, type Cursors, type Page, Refusal, refuseFields } from '../../kernel/api/index.ts'
import type { FactQueue } from '../../inbox/index.ts'
import { after, type Clock, hourMs, newId } from '../../kernel/index.ts'
import {
  type MailContent,
  type MailQueue,
  type MailToRender,
  type NewMail,
  oneLine,
  plainMail,
  formatUtc,
} from '../../mail/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import { permit, type Grant } from './giving.ts'
import { currentCallerActor } from './makers.ts'
import type { Users } from './service.ts'

export type CreatedServiceAccount = { readonly account: ListedCredential; readonly apiSecret: string }

export type ServiceAccounts = {
  /** Lists service accounts, newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listServiceAccounts'>) => Promise<Page<ListedCredential>>
  /** Reads a service account. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<ListedCredential>
  /**
   * Creates a service account. Refuses: validation_failed (key, addresses, end), permission_denied (more than the caller has),
   * service_account_limit_reached.
   */
  readonly create: (caller: Caller, body: BodyOf<'createServiceAccount'>, tx?: Tx) => Promise<CreatedServiceAccount>
  /**
   * Changes a service account. Refuses: validation_failed, permission_denied (more than the caller has, before or after), not_found (also
   * if it is not active).
   */
  readonly update: (caller: Caller, id: string, body: BodyOf<'updateServiceAccount'>) => Promise<ListedCredential>
  /** Rotates the key of a service account. Refuses: as `create` and `update`. */
  readonly rotate: (
    caller: Caller,
    id: string,
    body: BodyOf<'rotateServiceAccount'>,
    tx?: Tx,
  ) => Promise<CreatedServiceAccount>
  /** Revokes a service account. Refuses: not_found, permission_denied (more than the caller has, except for the caller's own account). */
  readonly revoke: (caller: Caller, id: string) => Promise<void>
}

export type ServiceAccountsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly access: Access
  readonly mail: Pick<MailQueue, 'enqueue'>
  readonly facts: FactQueue
  readonly membersWithRoles: Users['membersWithRoles']
}

const overlapHoursDefault = 24
const adminsMax = 100
const credentialStatuses = { Active: 'valid', Expired: 'expired', Revoked: 'revoked' } as const

export function createServiceAccounts(deps: ServiceAccountsDeps): ServiceAccounts {
  const { db, cursors, access } = deps
  const listName = (partnerId: string) => `service-accounts:${partnerId}`
  return {
    list: async (partnerId, query) => {
      const page = cursors.read(listName(partnerId), query)
      const status = query.status && credentialStatuses[query.status]
      const rows = await access.serviceAccountsPage(db, partnerId, { ...page, status })
      return cursors.page(
        listName(partnerId),
        page,
        rows.map((row) => ({ ...row, id: row.serviceAccountId })),
      )
    },
    get: (partnerId, id) => access.serviceAccount(db, partnerId, id),
    create: createAccount(deps),
    update: updateAccount(deps),
    rotate: rotateAccount(deps),
    revoke: (caller, id) =>
      db.transaction(async (tx) => {
        const account = await access.serviceAccount(tx, caller.partnerId, id)
        const { name } = account
        // A key may always revoke itself.
        const grants = caller.serviceAccountId === id ? [] : [keyGrant(account)]
        permit(await currentCallerActor(deps, tx, caller), 'revokeServiceAccount', grants)
        await access.revoke(tx, caller.partnerId, id)
        await notifyAdmins(deps, tx, caller, { name, id, change: 'revoked' })
      }),
  }
}

type NamedChange = { readonly name: string; readonly id: string; readonly change: KeyChange }

async function notifyAdmins(deps: ServiceAccountsDeps, tx: Tx, caller: Caller, changed: NamedChange): Promise<void> {
  const { clock, mail, membersWithRoles, facts } = deps
  const fact = { name: changed.name, by: caller.name }
  const { partnerId } = caller
  facts.append(tx, [{ partnerId, type: `key.${changed.change}`, subject: changed.id, occasion: newId(), facts: fact }])
  const admins = await membersWithRoles(tx, caller.partnerId, ['Admin'], adminsMax)
  const about = { ...changed, by: caller.name, at: clock.now() }
  if (admins.length > 0)
    await mail.enqueue(
      tx,
      caller.partnerId,
      admins.map((admin) => keyMail(admin, about)),
    )
}

/** Returns the issuer of what a caller issues: the issuer of the calling key, or the caller itself. */
const callerIssuer = async ({ access }: ServiceAccountsDeps, tx: Tx, caller: Caller): Promise<Issuer> =>
  (await access.issuerOf(tx, caller.partnerId, caller.serviceAccountId)) ?? {
    id: caller.serviceAccountId,
    name: caller.name,
  }

const accountIssuer = ({ issuedBy: id, issuedByName: name }: ListedCredential): Issuer | undefined =>
  id === null || name === null ? undefined : { id, name }

/** Refuses: service_account_limit_reached. Two concurrent creations can exceed the limit by one, which lists tolerate. */
async function refuseTooMany({ access }: ServiceAccountsDeps, tx: Tx, partnerId: string): Promise<void> {
  const active = await access.activeServiceAccounts(tx, partnerId)
  if (active >= wire.serviceAccountsMax) throw new Refusal('service_account_limit_reached')
}

/** Reads the issued account, and informs the Admins. */
async function completeIssue(
  deps: ServiceAccountsDeps,
  tx: Tx,
  caller: Caller,
  { credential, change }: { readonly credential: IssuedCredential; readonly change: KeyChange },
): Promise<CreatedServiceAccount> {
  const { serviceAccountId: id, apiSecret } = credential
  const account = await deps.access.serviceAccount(tx, caller.partnerId, id)
  await notifyAdmins(deps, tx, caller, { name: account.name, id, change })
  return { account, apiSecret }
}

const createAccount =
  (deps: ServiceAccountsDeps): ServiceAccounts['create'] =>
  async (caller, body, outer) => {
    const { db, clock, access } = deps
    const { name, publicKeyPem, permissions } = body
    const allowedAddresses = body.allowedAddresses ?? []
    const expiresAt = readEnd(body.expiresAt)
    refuseFields([...keyErrors(publicKeyPem), ...addressErrors(allowedAddresses), ...endErrors(expiresAt, clock.now())])
    return inTransaction(db, outer, async (tx) => {
      const { partnerId } = caller
      const grant = keyGrant({ name, permissions, allowedAddresses, expiresAt })
      permit(await currentCallerActor(deps, tx, caller), 'createServiceAccount', [grant])
      await refuseTooMany(deps, tx, partnerId)
      const issuer = await callerIssuer(deps, tx, caller)
      const request = { partnerId, name, publicKeyPem, permissions, allowedAddresses, expiresAt, issuer }
      const credential = await access.createServiceAccount(tx, request)
      return completeIssue(deps, tx, caller, { credential, change: 'created' })
    })
  }

const updateAccount =
  (deps: ServiceAccountsDeps): ServiceAccounts['update'] =>
  async (caller, id, body) => {
    const { db, clock, access } = deps
    const expiresAt = body.expiresAt === undefined ? undefined : readEnd(body.expiresAt)
    refuseFields([...addressErrors(body.allowedAddresses), ...endErrors(expiresAt, clock.now())])
    return db.transaction(async (tx) => {
      const before = await access.lockServiceAccount(tx, caller.partnerId, id)
      const changed = {
        ...before,
        name: body.name ?? before.name,
        permissions: body.permissions ?? before.permissions,
        allowedAddresses: body.allowedAddresses ?? before.allowedAddresses,
        expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
      }
      permit(await currentCallerActor(deps, tx, caller), 'updateServiceAccount', [before, changed].map(keyGrant))
      await access.changeServiceAccount(tx, changed)
      await notifyAdmins(deps, tx, caller, { name: changed.name, id, change: 'changed' })
      return changed
    })
  }

const rotateAccount =
  (deps: ServiceAccountsDeps): ServiceAccounts['rotate'] =>
  async (caller, id, { publicKeyPem, overlapHours }, outer) => {
    const { db, clock, access } = deps
    refuseFields(keyErrors(publicKeyPem))
    return inTransaction(db, outer, async (tx) => {
      const { partnerId } = caller
      const before = await access.lockServiceAccount(tx, partnerId, id)
      permit(await currentCallerActor(deps, tx, caller), 'rotateServiceAccount', [keyGrant(before)])
      await refuseTooMany(deps, tx, partnerId)
      const oldExpiresAt = after(clock.now(), (overlapHours ?? overlapHoursDefault) * hourMs)
      // A key that rotates itself keeps its issuer.
      const issuer = caller.serviceAccountId === id ? accountIssuer(before) : await callerIssuer(deps, tx, caller)
      const rotation = { partnerId, id, publicKeyPem, oldExpiresAt, issuer }
      const credential = await access.rotateServiceAccount(tx, rotation)
      return completeIssue(deps, tx, caller, { credential, change: 'rotated' })
    })
  }

const keyGrant = ({
  name,
  permissions,
  ...bounds
}: Pick<ListedCredential, 'name' | 'permissions' | 'allowedAddresses' | 'expiresAt'>): Grant => ({
  name: `The service account ${name}`,
  permissions,
  isKey: true,
  bounds: { expiresAt: bounds.expiresAt, allowedAddresses: bounds.allowedAddresses },
})

const readEnd = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : new Date(text)

function keyErrors(pem: string): readonly FieldError[] {
  const message = publicKeyMistake(pem)
  return message === undefined ? [] : [{ pointer: '/publicKeyPem', code: 'invalid_value', message }]
}

const addressErrors = (addresses: readonly string[] | null | undefined): readonly FieldError[] =>
  (addresses ?? []).flatMap((address, index) =>
    parseNetwork(address) === undefined
      ? [
          {
            pointer: `/allowedAddresses/${index}`,
            code: 'invalid_value',
            message: 'must be an IP address or a network such as 203.0.113.0/24',
          },
        ]
      : [],
  )

const endErrors = (expiresAt: Date | null | undefined, now: Date): readonly FieldError[] =>
  expiresAt && expiresAt <= now
    ? [{ pointer: '/expiresAt', code: 'invalid_value', message: 'must be in the future' }]
    : []

// The mail that informs the Admins of a partner about a change of its keys, so that they see a stranger's key.

type KeyChange = 'created' | 'rotated' | 'changed' | 'revoked'

const sentences: Readonly<Record<KeyChange, string>> = {
  created: 'was created. It can sign requests of your business.',
  rotated: 'has a new key. The previous key works until the overlap ends.',
  changed: 'was changed: its name, permissions, addresses or expiry.',
  revoked: 'was revoked. It can no longer sign requests.',
}

type KeyChangeMail = {
  readonly id: string
  readonly name: string
  readonly change: KeyChange
  readonly by: string
  readonly at: Date
}

const keyMail = (
  { email, fullName }: { readonly email: string; readonly fullName: string },
  { id, name, change, by, at }: KeyChangeMail,
): NewMail => ({
  kind: 'service_account_changed',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { name, change, by, at: at.toISOString() },
})

export function renderKeyChange(mail: MailToRender): MailContent {
  const { name, change, by, at } = mail.data as Readonly<Record<'name' | 'by' | 'at', string>> & {
    readonly change: KeyChange
  }
  const partner = oneLine(mail.partnerName)
  const lines = [
    `Hello ${oneLine(mail.toName)},`,
    `The service account ${oneLine(name)} of ${partner} ${sentences[change]}`,
    `By: ${oneLine(by)}. Time: ${formatUtc(new Date(at))}.`,
    'If your team did not do this, revoke the service account at once, and check the audit log.',
  ]
  return plainMail(`Service account ${oneLine(name)} of ${partner}: ${change}`, lines)
}
