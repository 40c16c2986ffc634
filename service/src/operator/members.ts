/** Commands that let an Admin in who is locked out of the team of a partner. */
import { changing, refusedInOneLine } from './changes.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, required } from './options.ts'

export const memberCommands = {
  /** Begins the recovery of an Admin. The link is mailed after a cooling-off of 24 hours, in which every Admin can cancel. */
  'member recover': (context: Context, options: Options) => {
    const partnerId = required(options, 'partner')
    const email = required(options, 'email')
    required(options, 'identified-by')
    const [staff, reason] = [required(options, 'staff'), required(options, 'note')]
    return decided(context, { command: 'member recover', options }, (tx) =>
      context.service.members.recoveries.begin(tx, partnerId, { email, staff, reason }),
    )
  },

  /** Cancels a recovery before its link is used. */
  'member recovery cancel': async (context: Context, options: Options) => {
    const [partnerId, id] = [required(options, 'partner'), required(options, 'id')]
    const staff = required(options, 'staff')
    required(options, 'note')
    await refusedInOneLine(() =>
      changing(context, { command: 'member recovery cancel', options }, (tx) =>
        context.service.members.recoveries.stop(tx, partnerId, id, { staff }),
      ),
    )
    return { cancelled: id }
  },

  'member recovery list': ({ service, db }: Context, options: Options) =>
    service.members.recoveries.list(db, required(options, 'partner')),
}
