/** Commands by which a person signs in for the commands that follow, and tokens for schedules. */
import { setTimeout as pause } from 'node:timers/promises'
import { operatorPartnerId } from '../cases/index.ts'
import { deskUrlOf } from '../app/derived-settings.ts'
import { ConfigError } from '../app/config.ts'
import { present, systemClock } from '../kernel/index.ts'
import { refusedInOneLine } from './changes.ts'
import type { Context, Write } from './context.ts'
import { bearerOf, forgetToken, keepToken, originOf } from './identity.ts'
import { decided } from './limits.ts'
import { type Options, readInteger, required } from './options.ts'
import { scheduled } from './roles.ts'

/** RFC 8628 has five seconds between the questions of a client over a network. This one asks its database. */
const askEveryMs = 500
const daysMax = 366

export const signInCommands = {
  /** Prints a link to the desk and waits until a person has confirmed the code there, for ten minutes at most. */
  'sign-in': (context: Context, options: Options) => async (write: Write) => {
    const { service, config } = context
    const { token, userCode, confirmBefore } = await service.staff.commands.request(originOf())
    const link = new URL('/desk/device', deskUrlOf(config))
    link.searchParams.set('code', userCode)
    await write(`Open ${link.href} and confirm the code ${userCode} within ten minutes.\n`)
    while (systemClock.now() < confirmBefore) {
      const bearer = await service.staff.commands.bearer(token)
      if (bearer === undefined) break
      if (bearer !== 'waiting') {
        const file = await keepToken(config, options, token)
        const { fullName, role } = bearer.account
        return write(`${JSON.stringify({ signedIn: fullName, role, until: bearer.expiresAt, file })}\n`)
      }
      await pause(askEveryMs)
    }
    throw new ConfigError('operator: the code was not confirmed in time')
  },

  /** Ends the token, and removes its file. */
  'sign-out': async (context: Context, options: Options) => {
    const bearer = await bearerOf(context, options)
    if (bearer !== undefined) {
      const person = { ...options, staff: bearer.account.fullName, staffId: bearer.account.id }
      await decided(context, { command: 'sign-out', options: person, partnerId: operatorPartnerId }, async (tx) => {
        await context.service.staff.commands.end(tx, bearer.tokenId)
        return {}
      })
    }
    await forgetToken(context.config, options)
    return { signedOut: bearer?.account.fullName ?? null }
  },

  who: async (context: Context, options: Options) => {
    const bearer = await bearerOf(context, options)
    if (bearer === undefined) return { signedIn: null }
    const { account, commands, expiresAt } = bearer
    return { signedIn: account.fullName, role: account.role, commands, until: expiresAt }
  },

  /** Writes a token for commands of a schedule to a file. It works for an account until it ends, and decides nothing. */
  'staff token create': async (context: Context, options: Options) => {
    const commands = required(options, 'commands')
      .split(',')
      .map((name) => name.trim())
    const wrong = commands.find((name) => !scheduled.has(name))
    if (wrong !== undefined)
      throw new ConfigError(`operator: --commands: ${wrong} is not one of ${[...scheduled].join(', ')}`)
    const days = readInteger(options, 'days', { min: 1, max: daysMax, otherwise: 90 })
    const to = required(options, 'to')
    if (options.staffId === undefined) throw new ConfigError('operator: a token is of a person who has signed in')
    const by = present(options.staffId, 'a token has a person')
    const change = { command: 'staff token create', options, partnerId: operatorPartnerId }
    return decided(context, change, async (tx) => {
      const { token, ...issued } = await context.service.staff.commands.issue(tx, by, {
        commands,
        days,
        origin: originOf(),
      })
      // Before the commit: a token that is kept nowhere does not work.
      const file = await keepToken(context.config, { 'token-file': to }, token)
      return { ...issued, commands, file }
    })
  },

  /** The tokens that work now, of all persons. */
  'staff token list': async ({ service, db }: Context) => service.staff.commands.list(db),

  'staff token end': (context: Context, options: Options) =>
    refusedInOneLine(() =>
      decided(context, { command: 'staff token end', options, partnerId: operatorPartnerId }, async (tx) => {
        await context.service.staff.commands.end(tx, required(options, 'id'))
        return { ended: required(options, 'id') }
      }),
    ),
}
