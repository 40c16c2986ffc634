/** Commands that let an Admin in who is locked out of the team of a partner. */
import { changing, refusedInOneLine } from './changes.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const memberCommands: CommandsOf<`member ${string}`> = {
  /** Begins the recovery of an Admin. The link is mailed after a cooling-off of 24 hours, in which every Admin can cancel. */
  'member recover': (context, { partner, email, staff, note: reason }, call) =>
    decided(context, call, (tx) => context.service.members.recoveries.begin(tx, partner, { email, staff, reason })),

  /** Cancels a recovery before its link is used. */
  'member recovery cancel': async (context, { partner, id, staff }, call) => {
    await refusedInOneLine(() =>
      changing(context, call, (tx) => context.service.members.recoveries.stop(tx, partner, id, { staff })),
    )
    return { cancelled: id }
  },

  'member recovery list': ({ service, db }, { partner }) => service.members.recoveries.list(db, partner),
}
