/** Guest links: a person without an account opens the webhook pages with a link from a mail. One row holds a link and its session. */
import { type BodyOf, guestLinks as wire, type Permission, type QueryOf } from '@partner-payments/wire'
import type { Access } from '../../access/index.ts'
import {
  type Caller,
  type Cursors,
  newLinkToken,
  notFound,
  type Page,
  linkPartnerId,
  refuseFields,
} from '../../kernel/api/index.ts'
import type { Audit, ServiceAct } from '../../audit/index.ts'
import { after, type Clock, hourMs, minuteMs, newId, present, tokenHash } from '../../kernel/index.ts'
import {
  type MailContent,
  type MailQueue,
  type MailToRender,
  mailWithLink,
  type NewMail,
  oneLine,
  formatUtc,
} from '../../mail/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import { permit, type Grant, denialReason } from './giving.ts'
import { currentCallerActor, type Maker, findMaker } from './makers.ts'
import { utcDay, emailErrors, emailKey, nameErrors, refuseExcessMails } from './rules.ts'
import * as store from './store-entrances.ts'
import { countMails, deleteMailCounts } from './store.ts'
import { appendToken } from './mails.ts'

export type GuestLink = store.GuestLinkRow & {
  readonly status: 'Pending' | 'Open' | 'Expired' | 'Revoked' | 'Ended'
}

/** The guest of a session. The caller has permissions only for webhooks. */
type Guest = {
  readonly caller: Caller
  readonly link: store.GuestLinkRow
  readonly partnerName: string
}

export type GuestLinks = {
  /**
   * Creates a guest link. Refuses: validation_failed (address, name), permission_denied (more than the caller has), rate_limited (daily
   * limit of mails).
   */
  readonly create: (
    caller: Caller,
    body: BodyOf<'createGuestLink'>,
    request: { readonly ip: string; readonly tx?: Tx },
  ) => Promise<GuestLink>
  /** Lists the newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listGuestLinks'>) => Promise<Page<GuestLink>>
  /** Revokes a guest link. Refuses: not_found (also if it has ended), permission_denied (more than the caller has). */
  readonly revoke: (caller: Caller, id: string, ip: string) => Promise<void>
  /** Reads the link of a token for its page, without opening it. Refuses: not_found. */
  readonly shown: (token: string) => Promise<Omit<Guest, 'caller'>>
  /** Opens the session of a link, once, and returns the session's token. Refuses: not_found. */
  readonly open: (token: string, ip: string) => Promise<string>
  /** Finds the guest of a session. Undefined: no such session, or it has ended. */
  readonly guest: (token: string) => Promise<Guest | undefined>
  /** Ends the session of a guest who signs out. */
  readonly leave: (guest: Guest, ip: string) => Promise<void>
}

export type GuestLinksDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  readonly audit: Pick<Audit, 'append'>
  readonly access: Pick<Access, 'findServiceAccount' | 'partnerName' | 'isClosed'>
  /** The URL of the page of a link, without the token. */
  readonly guestUrl: string
}

/** Permissions of a guest. */
const guestPermissions: Readonly<Record<wire.GuestAccess, readonly Permission[]>> = {
  read: ['webhooks:read'],
  manage: ['webhooks:read', 'webhooks:write'],
}
/** Permissions that the maker of a link needs at its creation and for as long as it lasts. */
const makerPermissions = (access: wire.GuestAccess): readonly Permission[] => [
  'users:write',
  ...guestPermissions[access],
]

const guestGrants = (access: wire.GuestAccess): readonly Grant[] => [
  { name: 'The access of the guest', permissions: makerPermissions(access) },
]

/** Reports whether a maker may let the guest in now. */
const mayLetIn = (maker: Maker | undefined, access: wire.GuestAccess): boolean =>
  maker !== undefined &&
  !maker.isOver &&
  denialReason({ kind: 'maker', permissions: maker.permissions }, 'letGuestIn', guestGrants(access)) === undefined

function linkStatus(row: store.GuestLinkRow, maker: Maker | undefined, now: Date): GuestLink['status'] {
  if (row.revokedAt !== null) return 'Revoked'
  if (row.expiresAt <= now) return 'Expired'
  if (!mayLetIn(maker, row.access)) return 'Ended'
  return row.openedAt === null ? 'Pending' : 'Open'
}

/** Records an action on a link in the audit log, with the guest and the maker. */
function record(
  { audit }: GuestLinksDeps,
  tx: Tx,
  row: store.GuestLinkRow,
  { action, actor, partnerId }: { readonly action: ServiceAct; readonly actor: Actor; readonly partnerId: string },
): void {
  const { email, fullName, access, madeByName } = row
  const details = { guest: fullName, email, access, madeBy: madeByName, expiresAt: row.expiresAt.toISOString() }
  const by = { kind: 'partner', ...actor } as const
  audit.append(tx, [{ partnerId, actor: by, action, subject: { guestLinkId: row.id }, details }])
}

type Actor = { readonly id: string; readonly name: string; readonly ip: string }
const callerActor = ({ serviceAccountId: id, name }: Caller, ip: string): Actor => ({ id, name, ip })

/** Returns the name of the guest for the audit log, with the name of the maker. */
const guestName = ({ fullName, madeByName }: store.GuestLinkRow): string => `${fullName} (guest of ${madeByName})`

export function createGuestLinks(deps: GuestLinksDeps): GuestLinks {
  const { db, clock, cursors, mail } = deps
  const listName = (partnerId: string) => `guest-links:${partnerId}`
  const end = (caller: Caller, id: string, ip: string) =>
    db.transaction(async (tx) => {
      const { partnerId } = caller
      const row = await store.revokeLink(tx, partnerId, id, clock.now())
      if (row === undefined) throw notFound('guest link')
      await mail.endPending(tx, partnerId, id, 'the guest link was revoked')
      record(deps, tx, row, { partnerId, actor: callerActor(caller, ip), action: 'guestLink.revoked' })
    })
  return {
    create: createLink(deps),
    list: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      const page = cursors.page(listName(partnerId), request, await store.listLinks(db, partnerId, request))
      const makers = [...new Set(page.data.map(({ madeById }) => madeById))]
      const makersById = new Map(
        await Promise.all(makers.map(async (id) => [id, await findMaker(deps.access, db, partnerId, id)] as const)),
      )
      const now = clock.now()
      const data = page.data.map((row) => ({ ...row, status: linkStatus(row, makersById.get(row.madeById), now) }))
      return { ...page, data }
    },
    revoke: async (caller, id, ip) => {
      const row = await store.linkById(db, caller.partnerId, id)
      if (row === undefined) throw notFound('guest link')
      permit(await currentCallerActor(deps, db, caller), 'revokeGuestLink', guestGrants(row.access))
      return end(caller, id, ip)
    },
    leave: ({ caller, link }, ip) => end(caller, link.id, ip),
    ...createVisits(deps),
  }
}

const createLink =
  (deps: GuestLinksDeps): GuestLinks['create'] =>
  async (caller, { email, fullName, access, expiresInHours }, { ip, tx: outer }) => {
    const { db, clock, mail, guestUrl } = deps
    refuseFields([...emailErrors('/email', email), ...nameErrors('/fullName', fullName)])
    const { partnerId, serviceAccountId: madeById, name: madeByName } = caller
    return inTransaction(db, outer, async (tx) => {
      const permitted = permit(await currentCallerActor(deps, tx, caller), 'createGuestLink', guestGrants(access))
      const now = clock.now()
      const token = newLinkToken(partnerId)
      const expiresAt = after(now, (expiresInHours ?? wire.guestLinkHoursDefault) * hourMs)
      const row = {
        id: newId(),
        email,
        fullName,
        access,
        madeById,
        madeByName,
        createdAt: now,
        expiresAt,
        openedAt: null,
        lastUsedAt: null,
        revokedAt: null,
      }
      await store.insertLink(tx, permitted, partnerId, { ...row, tokenHash: tokenHash(token) })
      await deleteMailCounts(tx, partnerId, utcDay(now))
      refuseExcessMails(await countMails(tx, partnerId, utcDay(now), [emailKey(email)]), now)
      await mail.enqueue(tx, partnerId, [guestMail(row, token, guestUrl)])
      record(deps, tx, row, { partnerId, actor: callerActor(caller, ip), action: 'guestLink.created' })
      return { ...row, status: 'Pending' as const }
    })
  }

function createVisits(deps: GuestLinksDeps): Pick<GuestLinks, 'shown' | 'open' | 'guest'> {
  const { db, clock, mail } = deps
  const { partnerName, isClosed } = deps.access
  /** Reports whether the maker may still let the guest in. */
  const isValid = async (tx: Tx, partnerId: string, { madeById, access }: store.GuestLinkRow) =>
    mayLetIn(await findMaker(deps.access, tx, partnerId, madeById), access) && !(await isClosed(tx, partnerId))
  return {
    shown: async (token) => {
      const partnerId = linkPartnerId(token)
      const link = partnerId && (await store.pendingLink(db, partnerId, tokenHash(token), clock.now()))
      if (!partnerId || !link || !(await isValid(db, partnerId, link))) throw notFound('guest link')
      return { link, partnerName: await partnerName(db, partnerId) }
    },
    open: async (token, ip) => {
      const partnerId = linkPartnerId(token)
      if (partnerId === undefined) throw notFound('guest link')
      return db.transaction(async (tx) => {
        const session = newLinkToken(partnerId)
        const opened = { sessionHash: tokenHash(session), ip, now: clock.now() }
        const link = await store.openLink(tx, partnerId, tokenHash(token), opened)
        if (link === undefined || !(await isValid(tx, partnerId, link))) throw notFound('guest link')
        await mail.endPending(tx, partnerId, link.id, 'the guest link was opened')
        const actor = { id: link.id, name: guestName(link), ip }
        record(deps, tx, link, { partnerId, actor, action: 'guestLink.opened' })
        return session
      })
    },
    guest: async (token) => {
      const partnerId = linkPartnerId(token)
      if (partnerId === undefined) return undefined
      const now = clock.now()
      const link = await store.linkOfSession(db, partnerId, tokenHash(token), now)
      if (!link?.lastUsedAt || !(await isValid(db, partnerId, link))) return undefined
      if (now.getTime() - link.lastUsedAt.getTime() > minuteMs) await store.recordLinkUse(db, partnerId, link.id, now)
      const caller = {
        partnerId,
        serviceAccountId: link.id,
        name: guestName(link),
        permissions: guestPermissions[link.access],
      }
      return { caller, link, partnerName: await partnerName(db, partnerId) }
    },
  }
}

// The mail with a guest link, which has the only copy of the token, sealed.

const guestMail = (
  { id, email, fullName, madeByName, expiresAt }: store.GuestLinkRow,
  token: string,
  linkUrl: string,
): NewMail => ({
  kind: 'guest_link',
  subjectId: id,
  to: { name: fullName, address: email },
  data: { madeByName, linkUrl },
  secret: token,
  expiresAt,
})

export function renderGuestLink(mail: MailToRender): MailContent {
  const { madeByName, linkUrl } = mail.data as Readonly<Record<'madeByName' | 'linkUrl', string>>
  const link = appendToken(linkUrl, present(mail.secret, `no token in a mail of kind ${mail.kind}`))
  const expiresAt = present(mail.expiresAt, `no expiry of a mail of kind ${mail.kind}`)
  const [partner, maker] = [oneLine(mail.partnerName), oneLine(madeByName)]
  const before = [
    `Hello ${oneLine(mail.toName)},`,
    `${maker} lets you into the webhook pages of ${partner}. Open this link:`,
  ]
  const after = [
    `The link works once, in one browser, until ${formatUtc(expiresAt)}. What you do there is recorded with your name.`,
    'If you did not expect this mail, you can ignore it.',
  ]
  return mailWithLink(`${maker} lets you into the webhooks of ${partner}`, before, link, after)
}
