/** Commands for the credentials of a partner. */
import { readFile } from 'node:fs/promises'
import { publicKeyMistake } from '../access/index.ts'
import { ConfigError } from '../app/config.ts'
import { after, minuteMs, systemClock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { consoleUrlOf } from '../app/derived-settings.ts'
import { changing } from './changes.ts'
import { type CommandsOf, withBaseUrl } from './context.ts'

const hourMs = 60 * minuteMs

/** The time at which credentials end. A year typed wrongly would end them at once, which is said by leaving the time out. */
export function endAt(at: Date | undefined): Date {
  const now = systemClock.now()
  if (at !== undefined && at < now)
    throw new ConfigError(
      `operator: --at is in the past (it is ${at.toISOString()}): give a later time, or leave it out to end them at once`,
    )
  return at ?? now
}

/** When the old credential of a rotation ends. */
export const overlapEnd = (hours: number): Date => after(systemClock.now(), hours * hourMs)

const pemStart = '-----BEGIN PUBLIC KEY-----'

/** The text of a key. Refuses a key of another kind, which would fail at every request. */
export async function readPublicKey(file: string): Promise<string> {
  const refuse = (reason: string) => new ConfigError(`operator: --public-key ${file}: ${reason}`)
  // A change that waited has the text of the file.
  const pem = file.startsWith(pemStart)
    ? file
    : await readFile(file, 'utf8').catch((error: Error) => {
        throw refuse(error.message)
      })
  const mistake = publicKeyMistake(pem)
  if (mistake !== undefined) throw refuse(mistake)
  return pem
}

const keyOf = async ({ 'public-key': file }: { readonly 'public-key'?: string }) =>
  file === undefined ? {} : { publicKeyPem: await readPublicKey(file) }

const idOf = ({ serviceAccountId }: { readonly serviceAccountId: string }) => ({ serviceAccountId })

export const serviceAccountCommands: CommandsOf<`service-account ${string}` | 'impersonate'> = {
  'service-account create': async (context, { partner: partnerId, name, permissions, ...key }, call) => {
    const request = { partnerId, name, permissions, ...(await keyOf(key)) }
    const create = (tx: Tx) => context.service.access.createServiceAccount(tx, request)
    return withBaseUrl(context, await changing(context, call, create, idOf))
  },

  'service-account list': ({ service, db }, { partner }) => service.access.serviceAccounts(db, partner),

  'service-account rotate': async (context, { partner: partnerId, id, ...options }, call) => {
    const oldExpiresAt = overlapEnd(options['overlap-hours'])
    const rotation = { partnerId, id, oldExpiresAt, ...(await keyOf(options)) }
    const rotate = (tx: Tx) => context.service.access.rotateServiceAccount(tx, rotation)
    const issued = await changing(context, call, rotate, idOf)
    return { ...withBaseUrl(context, issued), replaces: id, oldExpiresAt }
  },

  'service-account expire': async (context, { partner, id, at }, call) => {
    const expiresAt = endAt(at)
    await changing(context, call, (tx) => context.service.access.expireServiceAccount(tx, partner, id, expiresAt))
    return { serviceAccountId: id, expiresAt }
  },

  'service-account revoke': async (context, { partner, id }, call) => {
    await changing(context, call, (tx) => context.service.access.revoke(tx, partner, id))
    return { revoked: id }
  },

  impersonate: async (context, { partner: partnerId, staff, minutes, note: reason }, call) => {
    const open = async (tx: Tx) => {
      const issued = await context.service.access.impersonate(tx, partnerId, staff, minutes)
      await context.service.tellOfImpersonation(tx, { partnerId, id: issued.serviceAccountId, staff, reason, minutes })
      const { code, codeExpiresAt } = await context.service.access.beginSupport(tx, {
        ...{ partnerId, id: issued.serviceAccountId, reason },
      })
      const consoleUrl = `${consoleUrlOf(context.config)}/support?code=${code}`
      return { ...issued, consoleUrl, consoleUrlExpiresAt: codeExpiresAt }
    }
    return withBaseUrl(context, await changing(context, call, open, idOf))
  },
}
