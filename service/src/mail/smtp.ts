/** Sends mails to an SMTP server: one connection for each mail, and a limit for each wait. */
import type { SMTPTransportOptions } from 'nodemailer'
import { secondMs } from '../kernel/index.ts'
import { type MailMessage, MailRefused, type MailTransport, toNodemailer } from './transport.ts'

export type SmtpLimits = {
  readonly connectTimeoutMs: number
  readonly greetingTimeoutMs: number
  /** Limit of a silence within the conversation. */
  readonly idleTimeoutMs: number
  /**
   * Limit of the whole conversation. Far below the lease of a mail, so that no second worker claims the mail meanwhile.
   */
  readonly sendTimeoutMs: number
}

const defaultLimits: SmtpLimits = {
  connectTimeoutMs: 10 * secondMs,
  greetingTimeoutMs: 10 * secondMs,
  idleTimeoutMs: 20 * secondMs,
  sendTimeoutMs: 60 * secondMs,
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * `smtp://user:password@host:587` or `smtps://...:465`, user and password percent-encoded. With a password, `smtp:`
 * requires STARTTLS unless the server is on loopback; `?requireTLS=true` requires it in every case.
 * The error for a malformed URL does not repeat the URL, which may contain the password.
 */
export function smtpTransport(url: string, limits: SmtpLimits = defaultLimits): MailTransport {
  const options = readUrl(url, limits)
  return {
    send: async (message: MailMessage) => {
      try {
        const signal = AbortSignal.timeout(limits.sendTimeoutMs)
        const { createTransport } = await import('nodemailer')
        await createTransport(options).sendMail({ ...toNodemailer(message), signal })
      } catch (error) {
        throw isPermanent(error) ? new MailRefused((error as Error).message, { cause: error }) : error
      }
    },
  }
}

function readUrl(text: string, limits: SmtpLimits): SMTPTransportOptions {
  const url = URL.parse(text)
  if (url === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '')
    throw new Error('the mail server must be an smtp: or smtps: URL')
  const { requireTLS, ...unknown } = Object.fromEntries(url.searchParams)
  if (Object.keys(unknown).length > 0 || !['true', undefined].includes(requireTLS))
    throw new Error('the URL of the mail server may have the parameter requireTLS=true and no other')
  const secure = url.protocol === 'smtps:'
  const auth =
    url.username === '' ? undefined : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: requireTLS === 'true' || (auth !== undefined && !loopback.test(url.hostname)),
    ...(auth === undefined ? {} : { auth }),
    connectionTimeout: limits.connectTimeoutMs,
    greetingTimeout: limits.greetingTimeoutMs,
    socketTimeout: limits.idleTimeoutMs,
    dnsTimeout: limits.connectTimeoutMs,
  }
}

/**
 * A 5xx reply to the recipient is permanent (RFC 5321 section 4.2.1). A 5xx reply to the login or the sender reports a
 * mistake in our configuration, which an operator can correct: the mail is retried.
 */
function isPermanent(error: unknown): boolean {
  const { command, responseCode } = error as { readonly command?: unknown; readonly responseCode?: unknown }
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500
}
