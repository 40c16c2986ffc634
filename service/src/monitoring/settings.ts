/** The settings of goAML reports to a financial intelligence unit. */
import { refuseSetting, type Settings } from '../kernel/index.ts'

/** The codes that each authority chooses, with their defaults: `-` is goAML's "not known". */
const codesDefault = {
  report: 'STR',
  submission: 'E',
  transmode: '-',
  funds: '-',
  contact: '-',
  communication: '-',
  indicator: '-',
  // Only some authorities require these elements. Empty ones are not written.
  branch: '',
  state: '',
  transmode_comment: '',
}

export type FiuCodes = Readonly<Record<string, string>> & typeof codesDefault

function readCodes(value: string | undefined): FiuCodes {
  const given = (value ?? '').split(',').filter((part) => part.trim() !== '')
  const pairs = given.map((part) => {
    const [name = '', code = ''] = part.split('=').map((text) => text.trim())
    const isKnown = Object.hasOwn(codesDefault, name) || /^indicator\.[a-z_]+$/.test(name)
    if (isKnown && /^[\w -]{1,25}$/.test(code)) return [name, code] as const
    const names = [...Object.keys(codesDefault), 'indicator.KIND'].join(', ')
    return refuseSetting(`must be NAME=CODE with commas between; the names are ${names}`)
  })
  return { ...codesDefault, ...Object.fromEntries(pairs) }
}

/** Splits the value of a setting at semicolons. Null: the setting is absent. */
const readParts =
  (names: readonly string[]) =>
  (value: string | undefined): readonly string[] | null => {
    const parts = value?.split(';').map((part) => part.trim()) ?? null
    if (parts !== null && (parts.length !== names.length || parts.includes('')))
      refuseSetting(`must be ${names.join('; ')}`)
    return parts
  }

export const monitoringSettings = {
  FIU_ENTITY_ID: {
    default: 'none: reports cannot be written',
    description: 'Your number at the financial intelligence unit (`rentity_id` of goAML)',
    read: (value: string | undefined): string | null =>
      value === undefined || /^[1-9]\d{0,8}$/.test(value) ? (value ?? null) : refuseSetting('must be a number'),
  },
  FIU_REPORTING_PERSON: {
    default: 'none',
    description:
      'The reporting person: first names and last name, separated by a semicolon, for example `Ada;Lovelace`',
    read: readParts(['FIRST NAMES', 'LAST NAME']),
  },
  FIU_LOCATION: {
    default: 'none',
    description:
      'Your address: street, city and country, separated by semicolons, for example `Main Street 1;Vilnius;LT`',
    read: readParts(['STREET', 'CITY', 'COUNTRY']),
  },
  FIU_CODES: {
    default: 'report=STR,submission=E, and - for the others',
    description:
      'The goAML codes of your authority. `indicator.KIND` is the indicator of the rules of a kind, for example `indicator.structuring=STRC`. `branch`, `state` and `transmode_comment` are only written if set',
    read: readCodes,
  },
} as const satisfies Settings
