/** Commands by which a person signs in for the commands that follow, and tokens for schedules. */
import { setTimeout as pause } from 'node:timers/promises'
import { deskUrlOf } from '../app/derived-settings.ts'
import { ConfigError } from '../app/config.ts'
import { systemClock } from '../kernel/index.ts'
import type { CommandsOf } from './context.ts'
import { bearerOf, forgetToken, keepToken, originOf } from './identity.ts'
import { decided } from './limits.ts'

/** RFC 8628 has five seconds between the questions of a client over a network. This one asks its database. */
const askEveryMs = 500

export const signInCommands: CommandsOf<`sign-${string}` | 'who' | `staff token ${string}`> = {
  /** Prints a link to the desk and waits until a person has confirmed the code there, for ten minutes at most. */
  'sign-in': (context, options) => async (write) => {
    const { service, config } = context
    const { token, userCode, confirmBefore } = await service.staff.commands.request(originOf())
    const link = new URL('/desk/device', deskUrlOf(config))
    link.searchParams.set('code', userCode)
    await write(`Open ${link.href} and confirm the code ${userCode} within ten minutes.\n`)
    while (systemClock.now() < confirmBefore) {
      const bearer = await service.staff.commands.bearer(token)
      if (bearer === undefined) break
      if (bearer !== 'waiting') {
        const file = await keepToken(config, options['token-file'], token)
        const { fullName, role } = bearer.account
        return write(`${JSON.stringify({ signedIn: fullName, role, until: bearer.expiresAt, file })}\n`)
      }
      await pause(askEveryMs)
    }
    throw new ConfigError('operator: the code was not confirmed in time')
  },

  /** Ends the token, and removes its file. */
  'sign-out': async (context, { 'token-file': file }, call) => {
    const bearer = await bearerOf(context, file)
    if (bearer !== undefined) {
      const person = { staff: bearer.account.fullName, staffId: bearer.account.id }
      await decided(context, { ...call, ...person }, async (tx) => {
        await context.service.staff.commands.end(tx, bearer.tokenId)
        return {}
      })
    }
    await forgetToken(context.config, file)
    return { signedOut: bearer?.account.fullName ?? null }
  },

  who: async (context, options) => {
    const bearer = await bearerOf(context, options['token-file'])
    if (bearer === undefined) return { signedIn: null }
    const { account, commands, expiresAt } = bearer
    return { signedIn: account.fullName, role: account.role, commands, until: expiresAt }
  },

  /** Writes a token for commands of a schedule to a file. It works for an account until it ends, and decides nothing. */
  'staff token create': async (context, { commands, days, to }, call) => {
    if (call.staffId === undefined) throw new ConfigError('operator: a token is of a person who has signed in')
    const by = call.staffId
    return decided(context, call, async (tx) => {
      const { token, ...issued } = await context.service.staff.commands.issue(tx, by, {
        commands,
        days,
        origin: originOf(),
      })
      // Before the commit: a token that is kept nowhere does not work.
      const file = await keepToken(context.config, to, token)
      return { ...issued, commands, file }
    })
  },

  /** The tokens that work now, of all persons. */
  'staff token list': async ({ service, db }) => service.staff.commands.list(db),

  'staff token end': (context, { id }, call) =>
    decided(context, call, async (tx) => {
      await context.service.staff.commands.end(tx, id)
      return { ended: id }
    }),
}
