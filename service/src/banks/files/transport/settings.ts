/** Reads the settings of a bank's file transport. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  assert,
  readChoiceField,
  type Fields,
  readFields,
  readIntegerField,
  readNestedFields,
  readOptionalText,
  portMax,
  refuseSettingField,
  readTextField,
} from '../../../kernel/index.ts'

/** `taken`: the folder for processed files of the bank. Undefined: they are deleted. */
export type FolderConfig = {
  readonly kind: 'folder'
  readonly toBank: string
  readonly fromBank: string
  readonly taken: string | undefined
}
export type SftpConfig = {
  readonly kind: 'sftp'
  readonly host: string
  readonly port: number
  readonly username: string
  readonly privateKey: Buffer
  readonly passphrase: string | undefined
  /** `SHA256:` and the fingerprint, as `ssh-keygen -l` prints it. A server with another key is refused. */
  readonly hostKey: string
  readonly toBank: string
  readonly fromBank: string
  readonly taken: string | undefined
}
export type TransportConfig = FolderConfig | SftpConfig

const folderFields = ['toBank', 'fromBank', 'taken'] as const
const sftpFields = ['host', 'port', 'username', 'privateKeyFile', 'passphrase', 'hostKey'] as const
const pathCharsMax = 1000
/** SHA-256 in Base64 without padding. */
const fingerprintForm = /^SHA256:[A-Za-z0-9+/]{43}$/

export function readTransport(bank: Fields): TransportConfig {
  const any = readNestedFields(bank, 'transport', ['kind', ...folderFields, ...sftpFields])
  const kind = readChoiceField(any, 'kind', ['folder', 'sftp'])
  const own = kind === 'folder' ? folderFields : [...sftpFields, ...folderFields]
  const fields = readFields(any.given, any.path, ['kind', ...own])
  const folders = readFolders(fields, kind === 'folder' ? resolve : (path) => path.replace(/(?<=.)\/+$/, ''))
  return kind === 'folder' ? { kind, ...folders } : { kind, ...readServer(fields), ...folders }
}

function readFolders(fields: Fields, normal: (path: string) => string) {
  const taken = readOptionalText(fields, 'taken', pathCharsMax)
  const folders = {
    toBank: normal(readTextField(fields, 'toBank', pathCharsMax)),
    fromBank: normal(readTextField(fields, 'fromBank', pathCharsMax)),
    taken: taken === undefined ? undefined : normal(taken),
  }
  if (folders.toBank === folders.fromBank) return refuseSettingField(fields, 'fromBank', 'another folder than toBank')
  if (folders.taken === folders.fromBank || folders.taken === folders.toBank)
    return refuseSettingField(fields, 'taken', 'another folder than toBank and fromBank')
  return folders
}

function readServer(fields: Fields) {
  const hostKey = readTextField(fields, 'hostKey').replace(/=+$/, '')
  if (!fingerprintForm.test(hostKey))
    return refuseSettingField(
      fields,
      'hostKey',
      'the fingerprint of the key of the server, such as SHA256:47DEQpj8... (ssh-keyscan HOST | ssh-keygen -lf -)',
    )
  const file = readTextField(fields, 'privateKeyFile', pathCharsMax)
  let privateKey: Buffer
  try {
    privateKey = readFileSync(file)
  } catch (error) {
    return refuseSettingField(fields, 'privateKeyFile', `a file that can be read: ${(error as Error).message}`)
  }
  const passphrase = readOptionalText(fields, 'passphrase', 1000)
  const problem = keyProblem(privateKey, passphrase)
  if (problem !== undefined) return refuseSettingField(fields, problem.field, problem.what)
  return {
    host: readTextField(fields, 'host', 255),
    port: readIntegerField(fields, 'port', [1, portMax], 22),
    username: readTextField(fields, 'username'),
    privateKey,
    passphrase,
    hostKey,
  }
}

/** Finds problems of a key that are visible without its passphrase. */
function keyProblem(key: Buffer, passphrase: string | undefined) {
  const text = key.toString('latin1')
  const [, kind, body] = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----([^-]*)/.exec(text) ?? []
  if (body === undefined && !text.startsWith('PuTTY-User-Key-File'))
    return { field: 'privateKeyFile', what: 'the file of a private key in OpenSSH or PEM format' }
  const isSealed =
    kind === 'OPENSSH '
      ? !Buffer.from(body ?? '', 'base64')
          .subarray(15, 23)
          .equals(Buffer.from('\0\0\0\u0004none'))
      : /ENCRYPTED|^Encryption: (?!none)/m.test(text)
  return isSealed && passphrase === undefined
    ? { field: 'passphrase', what: 'the passphrase of the encrypted private key' }
    : undefined
}

/** Names of unfinished or hidden files. */
const unfinishedForm = /^\.|\.(?:tmp|part|filepart)$/i
export const isFinishedName = (name: string): boolean => !unfinishedForm.test(name)

/** Joins folder and name. The bank chooses the name, which must not lead out of the folder. */
export function pathIn(folder: string, name: string): string {
  assert(name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name), `file name with a path: ${name}`)
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}
