/** Commands for a partner as a whole. */
import { ConfigError } from '../app/config.ts'
import { createSandboxPartner } from '../app/seed.ts'
import { changing, record } from './changes.ts'
import { type CommandsOf, withBaseUrl } from './context.ts'
import { endAt, overlapEnd } from './service-accounts.ts'

const nameCharsMax = 140

export const partnerCommands: Omit<CommandsOf<`partner ${string}`>, 'partner export' | 'partner import'> = {
  'partner create': ({ service, db, config }, { name }, call) =>
    db.transaction(async (tx) => {
      const made =
        config.MODE === 'sandbox'
          ? withBaseUrl({ config }, await createSandboxPartner(service, tx, name))
          : { partnerId: await service.access.createPartner(tx, name) }
      await record(service, tx, { ...call, partnerId: made.partnerId })
      return made
    }),

  'partner list': ({ service, db }) => service.access.partners(db),

  'partner owners': ({ service, db }, { partner }) => service.access.namesOfPartner(db, partner),

  'partner owners set': (context, { partner: partnerId, 'legal-name': given = '', owners: typed = '' }, call) => {
    const { access } = context.service
    const present = (text: string) => text.split(';').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))
    const [legalName = null] = given.trim() === '' ? [] : [given.trim()]
    const owners = present(typed)
    if ([legalName ?? '', ...owners].some((each) => each.length > nameCharsMax))
      throw new ConfigError(`operator: a name has at most ${nameCharsMax} characters`)
    return changing(context, call, async (tx) => {
      await access.nameOwners(tx, partnerId, { legalName, owners })
      return access.namesOfPartner(tx, partnerId)
    })
  },

  /** Rotates every valid service account of the partner, in one transaction. */
  'partner rotate': (context, { partner: partnerId, 'overlap-hours': hours }, call) => {
    const { access } = context.service
    const oldExpiresAt = overlapEnd(hours)
    return changing(context, call, async (tx) => {
      const accounts = await access.serviceAccounts(tx, partnerId)
      const rotated: object[] = []
      for (const { serviceAccountId: id, status, impersonatedBy } of accounts)
        if (status === 'valid' && impersonatedBy === null) {
          const issued = await access.rotateServiceAccount(tx, { partnerId, id, oldExpiresAt })
          rotated.push({ ...withBaseUrl(context, issued), replaces: id, oldExpiresAt })
        }
      return rotated
    })
  },

  'partner expire': async (context, { partner: partnerId, at }, call) => {
    const expiresAt = endAt(at)
    const credentials = await changing(context, call, (tx) =>
      context.service.access.expirePartner(tx, partnerId, expiresAt),
    )
    return { partnerId, expiresAt, credentials }
  },
}
