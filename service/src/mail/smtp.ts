/** To a mail server: one connection a mail, every wait bounded. */
import { createTransport, type SMTPTransportOptions } from 'nodemailer'
import { secondMs } from '../kernel/index.ts'
import { type MailMessage, MailRefused, type MailTransport, toNodemailer } from './transport.ts'

export type SmtpLimits = {
  readonly connectTimeoutMs: number
  readonly greetingTimeoutMs: number
  /** Silence within the conversation. */
  readonly idleTimeoutMs: number
  /** The whole conversation; far below the lease of a mail, so that no second worker takes it meanwhile. */
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
 * insists on STARTTLS unless the server is this machine; `?requireTLS=true` insists without one.
 * Throws where the URL is not of that form, without repeating it: it may hold the password.
 */
export function smtpTransport(url: string, limits: SmtpLimits = defaultLimits): MailTransport {
  const transporter = createTransport(readUrl(url, limits))
  return {
    send: async (message: MailMessage) => {
      try {
        const signal = AbortSignal.timeout(limits.sendTimeoutMs)
        await transporter.sendMail({ ...toNodemailer(message), signal })
      } catch (error) {
        throw isFinal(error) ? new MailRefused((error as Error).message, { cause: error }) : error
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
    throw new Error('the URL of the mail server may carry requireTLS=true and nothing else')
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
 * A 5xx to the recipient alone is final (RFC 5321 section 4.2.1). A 5xx to the login or the sender is about our own
 * configuration, which somebody is going to mend: that mail waits.
 */
function isFinal(error: unknown): boolean {
  const { command, responseCode } = error as { readonly command?: unknown; readonly responseCode?: unknown }
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500
}
