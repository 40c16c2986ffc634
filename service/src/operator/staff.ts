/** Commands for the accounts of staff. Who runs them has the database: they also let the first admin in. */
import { deskUrlOf } from '../app/derived-settings.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const staffCommands: Omit<CommandsOf<`staff ${string}`>, `staff token ${string}`> = {
  /** Prints a link that works once, for 24 hours. */
  'staff invite': (context, { email, name: fullName, role }, call) =>
    decided(context, call, async (tx) => {
      const { token, ...invitation } = await context.service.staff.invite(tx, { email, fullName, role })
      const link = new URL('/desk/join', deskUrlOf(context.config))
      link.searchParams.set('token', token)
      return { ...invitation, link: link.href }
    }),

  'staff role': (context, { id: personId, role }, call) =>
    decided(context, call, async (tx) => {
      const { id, email, fullName } = await context.service.staff.setRole(tx, personId, role)
      return { id, email, fullName, role }
    }),

  /** Ends all sessions and commands of a person, who signs in again. */
  'staff end-sessions': (context, { id: personId }, call) =>
    decided(context, call, async (tx) => {
      const { id, email, fullName } = await context.service.staff.endSessions(tx, personId)
      return { id, email, fullName }
    }),

  'staff list': ({ service, db }) => service.staff.list(db),

  /** Ends all sessions of the person at once. */
  'staff remove': (context, { id: personId }, call) =>
    decided(context, call, async (tx) => {
      const { id, email, fullName } = await context.service.staff.remove(tx, personId)
      return { removed: id, email, fullName }
    }),
}
