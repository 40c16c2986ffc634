/** Operation id -> verb -> shape, of the team. */
import { users as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../api/index.ts'
import type { Members, User } from './members.ts'

const writeUser = writerOf(wire.User)
const toUser = ({ id: userId, role: roleName, ...user }: User) => writeUser({ ...user, userId, roleName })

const toSingleSignOn = writerOf(wire.SingleSignOn)

export function membersRoutes(members: Members) {
  return {
    listUsers: async ({ caller, query }) => pageOf(await members.listUsers(caller.partnerId, query), toUser),
    getUser: async ({ caller, params }) => ({ body: toUser(await members.getUser(caller.partnerId, params.userId)) }),
    updateUser: async ({ caller, params, body }) => ({
      body: toUser(await members.updateUser(caller, params.userId, body)),
    }),
    getSingleSignOn: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.settings(caller.partnerId)),
    }),
    setSingleSignOn: async ({ caller, body }) => ({
      body: toSingleSignOn(await members.singleSignOn.set(caller, body)),
    }),
    proveSingleSignOnDomain: async ({ caller }) => ({
      body: toSingleSignOn(await members.singleSignOn.proveDomain(caller.partnerId)),
    }),
    removeSingleSignOn: async ({ caller }) => {
      await members.singleSignOn.remove(caller)
      return { body: undefined }
    },
    removeUser: async ({ caller, params }) => {
      await members.removeUser(caller, params.userId)
      return { body: undefined }
    },
  } satisfies Partial<Handlers<'users'>>
}
