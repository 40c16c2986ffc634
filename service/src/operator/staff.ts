/** Commands for the accounts of staff. Who runs them has the database: they also let the first admin in. */
import { deskUrlOf } from '../app/derived-settings.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { staffRoles } from '../modules/staff/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, required } from './options.ts'

export const staffCommands = {
  /** Prints a link that works once, for 24 hours. */
  'staff invite': (context: Context, options: Options) => {
    const role = readChoice({ role: required(options, 'role') }, 'role', staffRoles)
    const person = { email: required(options, 'email'), fullName: required(options, 'name'), role }
    const change = { command: 'staff invite', options, partnerId: operatorPartnerId }
    return decided(context, change, async (tx) => {
      const { token, ...invitation } = await context.service.staff.invite(tx, person)
      const link = new URL('/desk/join', deskUrlOf(context.config))
      link.searchParams.set('token', token)
      return { ...invitation, link: link.href }
    })
  },

  'staff role': (context: Context, options: Options) => {
    const role = readChoice({ role: required(options, 'role') }, 'role', staffRoles)
    const change = { command: 'staff role', options, partnerId: operatorPartnerId }
    return decided(context, change, async (tx) => {
      const { id, email, fullName } = await context.service.staff.setRole(tx, required(options, 'id'), role)
      return { id, email, fullName, role }
    })
  },

  /** Ends all sessions and commands of a person, who signs in again. */
  'staff end-sessions': (context: Context, options: Options) => {
    const change = { command: 'staff end-sessions', options, partnerId: operatorPartnerId }
    return decided(context, change, async (tx) => {
      const { id, email, fullName } = await context.service.staff.endSessions(tx, required(options, 'id'))
      return { id, email, fullName }
    })
  },

  'staff list': ({ service, db }: Context) => service.staff.list(db),

  /** Ends all sessions of the person at once. */
  'staff remove': (context: Context, options: Options) => {
    const change = { command: 'staff remove', options, partnerId: operatorPartnerId }
    return decided(context, change, async (tx) => {
      const { id, email, fullName } = await context.service.staff.remove(tx, required(options, 'id'))
      return { removed: id, email, fullName }
    })
  },
}
