/** Commands for the credentials of a partner. */
import { after, minuteMs, systemClock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { consoleUrlOf } from '../app/derived-settings.ts'
import { changing } from './changes.ts'
import { type Context, withBaseUrl } from './context.ts'
import { type Options, readInteger, readPermissions, readPublicKey, readTime, required } from './options.ts'

const hourMs = 60 * minuteMs
const overlapHoursMax = 24 * 90

/** When the old credential of a rotation ends. */
export function readOverlap(options: Options): Date {
  const hours = readInteger(options, 'overlap-hours', { min: 0, max: overlapHoursMax, otherwise: 24 })
  return after(systemClock.now(), hours * hourMs)
}

const idsOf = (options: Options) => ({ partnerId: required(options, 'partner'), id: required(options, 'id') })

const idOf = ({ serviceAccountId }: { readonly serviceAccountId: string }) => ({ serviceAccountId })

export const serviceAccountCommands = {
  'service-account create': async (context: Context, options: Options) => {
    const request = {
      partnerId: required(options, 'partner'),
      name: required(options, 'name'),
      permissions: readPermissions(required(options, 'permissions')),
      ...(await readPublicKey(options)),
    }
    const create = (tx: Tx) => context.service.access.createServiceAccount(tx, request)
    return withBaseUrl(context, await changing(context, { command: 'service-account create', options }, create, idOf))
  },

  'service-account list': ({ service, db }: Context, options: Options) =>
    service.access.serviceAccounts(db, required(options, 'partner')),

  'service-account rotate': async (context: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    const oldExpiresAt = readOverlap(options)
    const rotation = { partnerId, id, oldExpiresAt, ...(await readPublicKey(options)) }
    const rotate = (tx: Tx) => context.service.access.rotateServiceAccount(tx, rotation)
    const issued = await changing(context, { command: 'service-account rotate', options }, rotate, idOf)
    return { ...withBaseUrl(context, issued), replaces: id, oldExpiresAt }
  },

  'service-account expire': async (context: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    const expiresAt = readTime(options, 'at') ?? systemClock.now()
    await changing(context, { command: 'service-account expire', options }, (tx) =>
      context.service.access.expireServiceAccount(tx, partnerId, id, expiresAt),
    )
    return { serviceAccountId: id, expiresAt }
  },

  'service-account revoke': async (context: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    await changing(context, { command: 'service-account revoke', options }, (tx) =>
      context.service.access.revoke(tx, partnerId, id),
    )
    return { revoked: id }
  },

  impersonate: async (context: Context, options: Options) => {
    const minutes = readInteger(options, 'minutes', { min: 1, max: 60, otherwise: 15 })
    const [partnerId, staff] = [required(options, 'partner'), required(options, 'staff')]
    const reason = required(options, 'note')
    const open = async (tx: Tx) => {
      const issued = await context.service.access.impersonate(tx, partnerId, staff, minutes)
      await context.service.tellOfImpersonation(tx, { partnerId, id: issued.serviceAccountId, staff, reason, minutes })
      const { code, codeExpiresAt } = await context.service.access.beginSupport(tx, {
        ...{ partnerId, id: issued.serviceAccountId, reason },
      })
      const consoleUrl = `${consoleUrlOf(context.config)}/support?code=${code}`
      return { ...issued, consoleUrl, consoleUrlExpiresAt: codeExpiresAt }
    }
    return withBaseUrl(context, await changing(context, { command: 'impersonate', options }, open, idOf))
  },
}
