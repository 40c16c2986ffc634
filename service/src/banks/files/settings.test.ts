/** The configuration of banks. Each refusal is one line that names the field. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { readConfig } from '../../app/config.ts'
import { checkBankFolders, isoSettings } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'partner-payments-settings-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const at = (name: string) => join(folder, name)
const makeKey = (name: string, passphrase: string) =>
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', at(name)])
makeKey('key', '')
makeKey('sealed-key', 'a passphrase')
writeFileSync(at('no-key'), 'nothing')
writeFileSync(at('reach.txt'), '# the banks that we reach\nCOBADEFFXXX Commerzbank\n\nDEUTDEFF\n')
writeFileSync(at('wrong-reach.txt'), 'COBADEFF\nnonsense\n')

const account = {
  iban: 'DE89 3704 0044 0532 0130 00',
  bic: 'COBADEFFXXX',
  ownerName: 'Example Payments Ltd',
  ownerAddress: { street: 'Main Street', town: 'Berlin', country: 'DE', lines: ['Back yard'] },
}
const inFolder = { kind: 'folder', toBank: at('to'), fromBank: at('from') }
const bySftp = {
  kind: 'sftp',
  host: 'sftp.bank.example',
  username: 'example',
  privateKeyFile: at('key'),
  hostKey: 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU',
  toBank: '/upload/',
  fromBank: '/download',
}
const bank = { initiator: { name: 'Example' }, accounts: [account], archive: at('archive'), transport: inFolder }

const { read } = isoSettings.ISO20022_BANKS
const readBanks = (...banks: readonly object[]) => read(JSON.stringify(banks))
const readOne = (change: object) => {
  const [config] = readBanks({ ...bank, ...change })
  assert.ok(config)
  return config
}

test('a bank is read from the text or a file, with defaults for absent fields', () => {
  const config = readOne({})
  assert.deepEqual(
    [config.id, config.preferred, config.instantMax, config.opensAt, config.cutOffAt, config.timeZone],
    ['iso20022', 'CreditTransfer', null, 0, 16 * 60, 'Europe/Berlin'],
  )
  assert.deepEqual(config.accounts[0]?.iban, 'DE89370400440532013000')
  assert.deepEqual(config.reach, { Instant: 'none', CreditTransfer: 'all' })
  assert.deepEqual(config.transport, { ...inFolder, taken: undefined })
  writeFileSync(at('banks.json'), JSON.stringify([bank]))
  assert.deepEqual(read(at('banks.json')), [config])
  assert.deepEqual([read(undefined), read(' ')], [[], []])
})

test('several banks are configured by name', () => {
  const ids = readBanks(bank, { ...bank, name: 'second', archive: at('second') }).map(({ id }) => id)
  assert.deepEqual(ids, ['iso20022', 'iso20022-second'])
})

test('reachable banks are read from a file of eight-character BICs', () => {
  const { reach } = readOne({ reach: { Instant: at('reach.txt') } })
  assert.deepEqual(reach, { Instant: new Set(['COBADEFF', 'DEUTDEFF']), CreditTransfer: 'all' })
})

test('the settings of an SFTP server have its key, its pinned host key and its port', () => {
  const { transport } = readOne({ transport: bySftp })
  assert.ok(transport.kind === 'sftp')
  assert.deepEqual([transport.port, transport.toBank, transport.hostKey], [22, '/upload', bySftp.hostKey])
  assert.match(transport.privateKey.toString(), /PRIVATE KEY/)
  readOne({ transport: { ...bySftp, privateKeyFile: at('sealed-key'), passphrase: 'a passphrase' } })
})

const accountWith = (change: object) => ({ accounts: [{ ...account, ...change }] })
const serverWith = (change: object) => ({ transport: { ...bySftp, ...change } })
const refusals: Readonly<Record<string, readonly [change: object, reason: RegExp]>> = {
  'an unknown field': [{ cutoff: '16:00' }, /no field \[0\]\.cutoff: the fields are name, /],
  'a name with capitals': [{ name: 'Second' }, /\[0\]\.name: lower-case/],
  'no initiator': [{ initiator: undefined }, /give \[0\]\.initiator as an object/],
  'an initiator without a name': [{ initiator: {} }, /\[0\]\.initiator\.name: a text/],
  'no accounts': [{ accounts: [] }, /\[0\]\.accounts: at least one/],
  'an IBAN with wrong check digits': [accountWith({ iban: 'DE90370400440532013000' }), /accounts\[0\]\.iban: an IBAN/],
  'an invalid BIC': [accountWith({ bic: 'COBA' }), /accounts\[0\]\.bic: a BIC/],
  'a token': [accountWith({ currency: 'USDC' }), /accounts\[0\]\.currency: a currency of banks/],
  'two accounts in a currency': [{ accounts: [account, account] }, /\[0\]\.accounts: one account for each currency/],
  'an address without a town': [accountWith({ ownerAddress: { country: 'DE' } }), /ownerAddress\.town: a text/],
  'an address without a country': [accountWith({ ownerAddress: { town: 'Berlin' } }), /ownerAddress\.country: a text/],
  'an address with three lines': [
    accountWith({ ownerAddress: { ...account.ownerAddress, lines: ['a', 'b', 'c'] } }),
    /ownerAddress\.lines: at most two/,
  ],
  'an unknown scheme': [{ preferredScheme: 'Fast' }, /\[0\]\.preferredScheme: one of Instant, CreditTransfer/],
  'an amount as a number': [{ instantMax: 100 }, /\[0\]\.instantMax: euros as text/],
  'an amount with three digits': [{ instantMax: '1.001' }, /\[0\]\.instantMax: euros as text/],
  'a reach without its file': [
    { reach: { Instant: at('none.txt') } },
    /\[0\]\.reach\.Instant: a file that can be read/,
  ],
  'a reach with a line that is not a BIC': [
    { reach: { Instant: at('wrong-reach.txt') } },
    /one BIC per line: nonsense is not a BIC/,
  ],
  'a reach of an unknown scheme': [{ reach: { Fast: 'all' } }, /no field \[0\]\.reach\.Fast/],
  'an unknown meaning of statement numbers': [{ statementNumbers: 'always' }, /\[0\]\.statementNumbers/],
  'an unknown time zone': [{ timeZone: 'Mars/Olympus' }, /\[0\]\.timeZone: the name of a time zone/],
  'an invalid time': [{ cutOffAt: '24:01' }, /\[0\]\.cutOffAt: a time of the day/],
  'a cut-off before the opening': [{ opensAt: '17:00' }, /\[0\]\.cutOffAt: a time after opensAt/],
  'an invalid closed day': [{ closedDays: ['24.12.2026'] }, /\[0\]\.closedDays: days such as/],
  'too many payments in a file': [
    { paymentsPerFileMax: 100_000 },
    /\[0\]\.paymentsPerFileMax: a whole number from 1 to/,
  ],
  'a negative window': [{ fileWindowMs: -1 }, /\[0\]\.fileWindowMs: a whole number/],
  'a batch booking that is a text': [{ batchBooking: 'yes' }, /\[0\]\.batchBooking: true or false/],
  'no archive': [{ archive: undefined }, /\[0\]\.archive: a text/],
  'no transport': [{ transport: undefined }, /give \[0\]\.transport as an object/],
  'an unknown transport': [{ transport: { kind: 'ftp' } }, /\[0\]\.transport\.kind: one of folder, sftp/],
  'one folder for both directions': [
    { transport: { ...inFolder, fromBank: at('to') } },
    /transport\.fromBank: another folder/,
  ],
  'one folder for both directions, in another spelling': [
    { transport: { ...inFolder, fromBank: `${at('to')}/../to/` } },
    /transport\.fromBank: another folder/,
  ],
  'a host in a folder transport': [{ transport: { ...inFolder, host: 'h' } }, /no field \[0\]\.transport\.host/],
  'a server without a pinned key': [serverWith({ hostKey: undefined }), /transport\.hostKey: a text/],
  'a fingerprint in another form': [serverWith({ hostKey: 'MD5:aa:bb' }), /transport\.hostKey: the fingerprint/],
  'a missing key file': [
    serverWith({ privateKeyFile: at('none') }),
    /transport\.privateKeyFile: a file that can be read/,
  ],
  'a key file without a key': [
    serverWith({ privateKeyFile: at('no-key') }),
    /transport\.privateKeyFile: the file of a private key/,
  ],
  'a sealed key without its passphrase': [
    serverWith({ privateKeyFile: at('sealed-key') }),
    /transport\.passphrase: the passphrase of the encrypted private key/,
  ],
  'an invalid port': [serverWith({ port: 70_000 }), /transport\.port: a whole number/],
}
suite('refused settings', () => {
  for (const [what, [change, reason]] of Object.entries(refusals))
    test(`ISO20022_BANKS refuses ${what}`, () =>
      assert.throws(
        () => readOne(change),
        (error: Error) => reason.test(error.message) && !error.message.includes('\n'),
      ))
  test('ISO20022_BANKS refuses a repeated bank, a shared archive, a non-list, invalid JSON and a missing file', () => {
    assert.throws(() => readBanks(bank, bank), /name each bank once: two are iso20022/)
    assert.throws(() => readBanks(bank, { ...bank, name: 'second' }), /an archive of its own/)
    assert.throws(() => read('{}'), /path of a readable file/)
    assert.throws(() => read('[{'), /must be JSON/)
    assert.throws(() => read(at('none.json')), /path of a readable file/)
  })
})

test('the process does not start with a connector that has no configuration', () => {
  const config = (env: Readonly<Record<string, string>>) => readConfig({}, { DATA_DIR: folder, ...env })
  const banks = JSON.stringify([bank])
  assert.equal(config({ RAIL: 'iso20022', ISO20022_BANKS: banks }).RAIL, 'iso20022')
  assert.throws(() => config({ RAIL: 'iso20022' }), /RAIL is iso20022, which ISO20022_BANKS does not have/)
  assert.throws(() => config({ RAIL: 'iso20022-b', ISO20022_BANKS: banks }), /RAIL is iso20022-b, which/)
  assert.throws(
    () => config({ RAIL_RULES: 'EUR=iso20022-b', ISO20022_BANKS: banks }),
    /RAIL_RULES names iso20022-b, which/,
  )
  assert.throws(
    () => config({ ISO20022_BANKS: '[{"archive": "secret"}]' }),
    (error: Error) => !error.message.includes('secret'),
  )
})

test('folders that cannot be used are refused at the start of a process that exchanges files', () => {
  const problem = (change: object) => checkBankFolders(readOne(change))
  const env = { DATA_DIR: folder, RAIL: 'iso20022', ISO20022_BANKS: JSON.stringify([bank]) }
  readConfig({}, env)
  assert.match(problem({}) ?? '', /^iso20022: transport\.toBank cannot be used: ENOENT.*\/to'$/)
  assert.throws(
    () => readConfig({ exchangesFiles: true }, env),
    /^ConfigError: ISO20022_BANKS: iso20022: transport\.toBank/,
  )
  for (const name of ['to', 'from', 'to/archive']) mkdirSync(at(name))
  assert.equal(problem({}), undefined)
  readConfig({ exchangesFiles: true }, env)
  assert.match(problem({ archive: at('to/archive') }) ?? '', /archive is within transport\.toBank/)
  assert.match(problem({ archive: at('from') }) ?? '', /transport\.fromBank is the same folder as archive/)
  symlinkSync(at('to'), at('link'))
  assert.match(
    problem({ transport: { ...inFolder, fromBank: at('link') } }) ?? '',
    /fromBank is the same folder as transport\.toBank/,
  )
  assert.match(problem({ archive: at('key') }) ?? '', /archive cannot be used: .* is not a folder/)
  assert.match(problem({ archive: at('none/archive') }) ?? '', /archive cannot be used: ENOENT/)
})

suite('the profile of the files', () => {
  test('the profile of a bank is SEPA by default, or chosen by id', () => {
    const { profile, chargeBearer, payeeCheck } = readOne({})
    assert.deepEqual([profile.id, chargeBearer, payeeCheck], ['epc-09', 'SHAR', undefined])
    const chosen = readOne({ profile: 'psa-09', payeeCheck: 'out', categoryPurpose: 'SUPP', chargeBearer: 'DEBT' })
    assert.deepEqual(
      [chosen.profile.id, chosen.payeeCheck, chosen.categoryPurpose, chosen.purpose, chosen.chargeBearer],
      ['psa-09', 'out', 'SUPP', undefined, 'DEBT'],
    )
  })

  const pounds = { ...account, iban: 'GB29 NWBK 6016 1331 9268 19', currency: 'GBP' }
  const refusals: Readonly<Record<string, readonly [object, RegExp]>> = {
    'an unknown profile': [{ profile: 'dk-10' }, /\[0\]\.profile: one of epc-09, epc-03, sps-09/],
    'pounds with a SEPA profile': [{ profile: 'dk-09', accounts: [account, pounds] }, /accounts in EUR only: .* dk-09/],
    'instant payments with a profile without them': [
      { profile: 'sps-09', reach: { Instant: 'all' } },
      /\[0\]\.profile: a profile with instant payments, .* sps-09/,
    ],
    'address lines where the address is structured': [{ profile: 'cfonb-09' }, /addresses without lines: .* cfonb-09/],
    'a payee verification setting that the file cannot express': [
      { payeeCheck: 'out' },
      /\[0\]\.payeeCheck: absent: .* epc-09/,
    ],
    'an unknown payee verification setting': [
      { profile: 'psa-09', payeeCheck: 'maybe' },
      /\[0\]\.payeeCheck: one of in, out/,
    ],
    'a purpose that is not a code': [{ purpose: 'food' }, /\[0\]\.purpose: a code of four capital letters/],
  }
  for (const [title, [change, message]] of Object.entries(refusals))
    test(`ISO20022_BANKS refuses ${title}`, () => assert.throws(() => readOne(change), message))
})
