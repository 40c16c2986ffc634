/** The transports of mails, SMTP and a folder: one message, one recipient, and no text that can become a header line. */
import type { SendMailOptions, SMTPTransportOptions } from 'nodemailer'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId, secondMs, escapeHtml } from '../kernel/index.ts'

export type Mailbox = { readonly name: string; readonly address: string }

/** A rendered mail. */
export type MailContent = {
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The link in the text, if there is one. */
  readonly link: string | null
}

export type MailMessage = MailContent & {
  /** `<id@domain>`, the same at every attempt. */
  readonly messageId: string
  readonly date: Date
  readonly from: Mailbox
  /** Receives the replies. Absent: the sender does. */
  readonly replyTo?: Mailbox
  readonly to: Mailbox
}

export type MailTransport = {
  /** Resolves once the server or the disk has the mail. Throws MailRefused if a further attempt cannot succeed. */
  readonly send: (message: MailMessage) => Promise<void>
}

/** A permanent failure: the mail is not sent again. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

const mailboxText = /^(?:(?<name>[^<>]*?)\s*<(?<bracketed>[^<>]+)>|(?<bare>\S+))$/

/** Reads `Name <a@b.example>` or `a@b.example`. Undefined: the text has another form. */
export function parseMailbox(text: string): Mailbox | undefined {
  const groups = mailboxText.exec(text.trim())?.groups
  const address = groups?.['bracketed'] ?? groups?.['bare'] ?? ''
  return isAddress(address) ? { name: oneLine(groups?.['name'] ?? '').replace(/^"(.*)"$/, '$1'), address } : undefined
}

/** Rejects the special characters of RFC 5322, which can make a text read as two addresses or as another address. */
export function isAddress(address: string): boolean {
  return /^[^\p{Cc}\s"(),:;<>@[\\\]]+@[^\p{Cc}\s"(),:;<>@[\\\]]+$/u.test(address) && address.isWellFormed()
}

/** Makes a name one line of plain text, without control characters and characters that change the reading direction. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Converts a message for nodemailer: addresses as objects, which it does not parse, and without access to files or URLs. */
function toNodemailer({ link: _link, to, from, replyTo, subject, ...message }: MailMessage) {
  if (!isAddress(to.address)) throw new MailRefused('the address is not valid in a mail')
  return {
    ...message,
    subject: oneLine(subject),
    from: { name: oneLine(from.name), address: from.address },
    ...(replyTo === undefined ? {} : { replyTo: { name: oneLine(replyTo.name), address: replyTo.address } }),
    to: { name: oneLine(to.name), address: to.address },
    envelope: { from: from.address, to: to.address },
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions
}

// The folder: each mail becomes an `.eml` file, for a machine without a mail server.

const addressCharsMax = 100

/** Creates the folder if it is missing. Mails contain live tokens: only the owner may read the folder and its files. */
export function folderTransport(folder: string): MailTransport {
  return {
    send: async (message) => {
      const { createTransport } = await import('nodemailer')
      const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      const options = toNodemailer(message)
      // Quoted-printable breaks long lines and writes `=3D`, so a header of its own holds the link for copying. The URL
      // parser has made the link plain ASCII without blanks.
      const headers = message.link === null ? {} : { 'X-Invitation-Link': { prepared: true, value: message.link } }
      const { message: bytes } = await composer.sendMail({ ...options, headers: { ...options.headers, ...headers } })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await publish(folder, fileName(message), bytes as Buffer)
    },
  }
}

/** Formats a file name such as `2026-11-21T04-52-00.000Z-ada@example.com`, without path separators and colons, which some systems refuse. */
function fileName({ date, to }: MailMessage): string {
  const address = to.address.replace(/[^A-Za-z0-9@._+-]/g, '_').slice(0, addressCharsMax)
  return `${date.toISOString().replaceAll(':', '-')}-${address}`
}

/** Writes a file atomically. A link, unlike a rename, does not replace another mail of the same millisecond. */
async function publish(folder: string, name: string, bytes: Buffer): Promise<void> {
  const draft = join(folder, `.${newId()}.tmp`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    for (let number = 1; ; number += 1) {
      const taken = await link(draft, join(folder, `${name}${number === 1 ? '' : `-${number}`}.eml`)).then(
        () => false,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
          return true
        },
      )
      if (!taken) return
    }
  } finally {
    await rm(draft, { force: true })
  }
}

// The SMTP server: one connection for each mail, and a limit for each wait.

type SmtpLimits = {
  readonly connectTimeoutMs: number
  readonly greetingTimeoutMs: number
  /** Limit of silence within the conversation. */
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
 * Accepts `smtp://user:password@host:587` or `smtps://...:465`, user and password percent-encoded. With a password, `smtp:`
 * requires STARTTLS unless the server is on loopback; `?requireTLS=true` always requires it.
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
 * Reports whether an error is permanent: a 5xx reply to the recipient (RFC 5321 section 4.2.1). A 5xx reply to the login
 * or the sender reports a mistake in our configuration, which an operator can correct: the mail is retried.
 */
function isPermanent(error: unknown): boolean {
  const { command, responseCode } = error as { readonly command?: unknown; readonly responseCode?: unknown }
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500
}

// Times and paragraphs, which all templates use.

/** Created on first use: it takes some 30 ms, and most processes do not write mails. */
let format: Intl.DateTimeFormat | undefined
export function formatUtc(time: Date): string {
  format ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `${format.format(time)} UTC`
}

/** Takes paragraphs of HTML: the caller escapes plain text. */
export const htmlPage = (paragraphs: readonly string[], language = 'en') =>
  `<!doctype html>\n<html lang="${language}">\n<body>\n${paragraphs.map((each) => `<p>${each}</p>`).join('\n')}\n</body>\n</html>\n`

/** Renders paragraphs of plain text, with a link as a paragraph between them. */
export const mailWithLink = (
  subject: string,
  before: readonly string[],
  link: string,
  after: readonly string[] = [],
): MailContent => ({
  subject,
  text: `${[...before, link, ...after].join('\n\n')}\n`,
  html: htmlPage([
    ...before.map(escapeHtml),
    `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`,
    ...after.map(escapeHtml),
  ]),
  link,
})

/** Renders paragraphs of plain text. */
export const plainMail = (subject: string, paragraphs: readonly string[]): MailContent => ({
  subject,
  text: `${paragraphs.join('\n\n')}\n`,
  html: htmlPage(paragraphs.map(escapeHtml)),
  link: null,
})
