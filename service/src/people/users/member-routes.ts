/** Operation id -> verb -> shape, of the team. */
import { users as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
import type { Members, User } from './members.ts'

const writeUser = writerOf(wire.User)
const toUser = ({ id: userId, role: roleName, ...user }: User) => writeUser({ ...user, userId, roleName })

const toSingleSignOn = writerOf(wire.SingleSignOn)

export function membersRoutes(members: Members) {
  return {
    listUsers: async ({ caller, query }) => pageOf(await members.listUsers(caller.partnerId, query), toUser),
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
