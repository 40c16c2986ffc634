/** Handlers of the team, and its operations. */
import { type BodyOf, type QueryOf, users as wire } from '@partner-payments/wire'
import {
  type Caller,
  type Handlers,
  notFound,
  type Page,
  writePage,
  Refusal,
  createRecordWriter,
} from '../../kernel/api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { createSignInOperations, type SignInOperations } from './entrances.ts'
import { permit, roleGrant } from './giving.ts'
import { currentCallerActor } from './makers.ts'
import type { MembersDeps } from './member-deps.ts'
import { createRecoveries, type Recoveries } from './recoveries.ts'
import { changeRole } from './role-changes.ts'
import { utcDay, emailKey, refuseLastAdmin, refuseExcessMails } from './rules.ts'
import { createTeamSingleSignOn, type TeamSingleSignOn } from './single-sign-on.ts'
import * as store from './store.ts'
import { deleteUploadsOf } from './store-uploads.ts'

const writeUser = createRecordWriter(wire.User)
const toUser = ({ id: userId, role: roleName, ...user }: User) => writeUser({ ...user, userId, roleName })

const toSingleSignOn = createRecordWriter(wire.SingleSignOn)

export function membersRoutes(members: Members) {
  return {
    listUsers: async ({ caller, query }) => writePage(await members.listUsers(caller.partnerId, query), toUser),
    getUser: async ({ caller, params }) => ({ body: toUser(await members.getUser(caller.partnerId, params.userId)) }),
    updateUser: async ({ caller, params, body, ip }) => ({
      body: toUser(await members.updateUser(caller, params.userId, body, ip)),
    }),
    getSingleSignOn: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.settings(caller.partnerId)),
    }),
    setSingleSignOn: async ({ caller, body, ip }) => ({
      body: toSingleSignOn(await members.singleSignOn.set(caller, body, ip)),
    }),
    proveSingleSignOnDomain: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.proveDomain(caller)),
    }),
    removeSingleSignOn: async ({ caller }) => {
      await members.singleSignOn.remove(caller)
      return { body: undefined }
    },
    removeUser: async ({ caller, params, ip }) => {
      await members.removeUser(caller, params.userId, ip)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}

// The operations of a team: people join by an invitation, sign in, change roles and are removed.

type User = store.MemberRow & { readonly factors: readonly ('passkey' | 'password' | 'sso')[] }

export type Members = SignInOperations & {
  readonly singleSignOn: TeamSingleSignOn
  readonly recoveries: Recoveries
  /** Lists members, newest first. Refuses: validation_failed (cursor). */
  readonly listUsers: (partnerId: string, query: QueryOf<'listUsers'>) => Promise<Page<User>>
  /** Reads a member. Refuses: not_found. */
  readonly getUser: (partnerId: string, id: string) => Promise<User>
  /** Changes a member. Refuses: not_found, permission_denied (a role above the caller's), last_admin. */
  readonly updateUser: (caller: Caller, id: string, body: BodyOf<'updateUser'>, ip?: string) => Promise<User>
  /** Removes a member. Refuses: not_found, permission_denied (a role above the caller's), last_admin. */
  readonly removeUser: (caller: Caller, id: string, ip?: string) => Promise<void>
  /** Mails an address the sign-in links of its partners. The answer does not reveal whether there are any. */
  readonly mailSignInLinks: (address: string) => Promise<void>
}

export function createMembers(deps: MembersDeps): Members {
  const { db, cursors, signIn } = deps
  const listName = (partnerId: string) => `users:${partnerId}`
  const withFactors = async (tx: Tx, partnerId: string, rows: readonly store.MemberRow[]): Promise<readonly User[]> => {
    const ids = rows.map(({ id }) => id)
    const factors = Map.groupBy(await signIn.factorsOf(tx, partnerId, ids), ({ memberId }) => memberId)
    return rows.map((row) => ({ ...row, factors: (factors.get(row.id) ?? []).map(({ factor }) => factor).toSorted() }))
  }
  const getUser: Members['getUser'] = async (partnerId, id) => {
    const row = await store.memberById(db, partnerId, id)
    const [user] = row === undefined ? [] : await withFactors(db, partnerId, [row])
    if (user === undefined) throw notFound('user')
    return user
  }
  return {
    getUser,
    listUsers: async (partnerId, query) => {
      const request = cursors.read(listName(partnerId), query)
      const rows = await store.listMembers(db, partnerId, query.role, request)
      const page = cursors.page(listName(partnerId), request, rows)
      return { ...page, data: await withFactors(db, partnerId, page.data) }
    },
    updateUser: async (caller, id, { role }, ip) => {
      const { partnerId } = caller
      await db.transaction(async (tx) => {
        const { member, admins } = await store.lockWithAdmins(tx, partnerId, id)
        if (member === undefined) throw notFound('user')
        const grants = [roleGrant(role), roleGrant(member.role)]
        const permitted = permit(await currentCallerActor(deps, tx, caller), 'updateUser', grants)
        if (role !== member.role) refuseLastAdmin(member.role, admins)
        const change = { member, from: member.role, to: role, ...authorship(caller, ip) }
        await changeRole(deps, tx, permitted, { partnerId, ...change })
      })
      return getUser(partnerId, id)
    },
    removeUser: (caller, id, ip) =>
      db.transaction(async (tx) => {
        const { partnerId } = caller
        const { member, admins } = await store.lockWithAdmins(tx, partnerId, id)
        if (member === undefined) throw notFound('user')
        const grants = [roleGrant(member.role)]
        const permitted = permit(await currentCallerActor(deps, tx, caller), 'removeUser', grants)
        refuseLastAdmin(member.role, admins)
        const change = { member, from: member.role, to: null, ...authorship(caller, ip) }
        await changeRole(deps, tx, permitted, { partnerId, ...change })
        await store.deletePrivateViews(tx, partnerId, id)
        await deleteUploadsOf(tx, partnerId, id)
        await signIn.forgetRemoved(tx, partnerId, id)
      }),
    ...createSignInOperations(deps),
    singleSignOn: createTeamSingleSignOn(deps),
    recoveries: createRecoveries(deps),
    mailSignInLinks: createLinkMails(deps),
  }
}

const authorship = ({ serviceAccountId: id, name }: Caller, ip?: string) => ({
  by: name,
  actor: { kind: 'partner', id, name, ...(ip === undefined ? {} : { ip }) } as const,
})

/** Maximum number of partners for which an address gets a link. */
const partnersOfAddressMax = 10

function createLinkMails({ db, clock, mail, signInUrl }: MembersDeps): Members['mailSignInLinks'] {
  return async (address) => {
    const key = emailKey(address.trim())
    for (const { partnerId, id, fullName, email } of await store.membersOfAddress(db, key, partnersOfAddressMax))
      await db
        .transaction(async (tx) => {
          const now = clock.now()
          refuseExcessMails(await store.countMails(tx, partnerId, utcDay(now), [key]), now)
          const to = { name: fullName, address: email }
          const data = { linkUrl: `${signInUrl}?partner=${partnerId}` }
          await mail.enqueue(tx, partnerId, [{ kind: 'sign_in_link', subjectId: id, to, data }])
        })
        // An address that has reached its daily mail limit gets the same answer.
        .catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
        })
  }
}
