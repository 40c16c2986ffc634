/** Helpers of the SMTP and folder transports: one message, one recipient, and no text that can become a header line. */
import type { SendMailOptions } from 'nodemailer'

export type Mailbox = { readonly name: string; readonly address: string }

/** Rendered mail. */
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
export function readMailbox(text: string): Mailbox | undefined {
  const groups = mailboxText.exec(text.trim())?.groups
  const address = groups?.['bracketed'] ?? groups?.['bare'] ?? ''
  return isAddress(address) ? { name: oneLine(groups?.['name'] ?? '').replace(/^"(.*)"$/, '$1'), address } : undefined
}

/** Refuses the special characters of RFC 5322: with them one text can be read as two addresses, or as another address. */
export function isAddress(address: string): boolean {
  return /^[^\p{Cc}\s"(),:;<>@[\\\]]+@[^\p{Cc}\s"(),:;<>@[\\\]]+$/u.test(address) && address.isWellFormed()
}

/** A name as one line of plain text: without control characters and characters that change the reading direction. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The message for nodemailer: addresses as objects, which it does not parse, and no access to files or URLs. */
export function toNodemailer({ link: _link, to, from, subject, ...message }: MailMessage) {
  if (!isAddress(to.address)) throw new MailRefused('the address is not valid in a mail')
  return {
    ...message,
    subject: oneLine(subject),
    from: { name: oneLine(from.name), address: from.address },
    to: { name: oneLine(to.name), address: to.address },
    envelope: { from: from.address, to: to.address },
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions
}
