/**
 * GeoIP: country, place and network of an IP address from local files in MaxMind's format (docs/configuration.md,
 * "GEOIP_CITY_FILE"). No network requests. Files are read at startup; a newer file needs a restart.
 */
import { BlockList, isIPv4 } from 'node:net'
import { type AsnResponse, type CityResponse, open, type Reader, type Response } from 'maxmind'
import { readAddress } from './core/network.ts'
import { ConfigurationError } from './setting-texts.ts'

export type GeoLocation = {
  /** ISO 3166-1, two letters. */
  readonly country: string | null
  /** "Hamburg, Germany", in the given language where the database has it, otherwise in English. */
  placeName(language: string): string | null
  /** Operator of the network: "Example Telecom". */
  readonly network: string | null
  /** Autonomous system number of the network. */
  readonly asn: number | null
}

export type GeoIp = { find(address: string | null): GeoLocation }

const NOWHERE: GeoLocation = { country: null, placeName: () => null, network: null, asn: null }

/** A file that is null is not looked up: its fields are null in every location. */
export async function openGeoIp(geoipCityFile: string | null, geoipAsnFile: string | null): Promise<GeoIp> {
  const places = await openDatabase<CityResponse>('GEOIP_CITY_FILE', geoipCityFile)
  const networks = await openDatabase<AsnResponse>('GEOIP_ASN_FILE', geoipAsnFile)
  return {
    find: (given) => {
      const address = given === null ? null : readAddress(given)
      if (address === null || isPrivate(address)) return NOWHERE
      const { city, country } = look(places, address) ?? {}
      const system = look(networks, address)
      const names = [city?.names, country?.names] as (Readonly<Record<string, string>> | undefined)[]
      return {
        country: country?.iso_code ?? null,
        placeName: (language) => names.flatMap((each) => each?.[language] ?? each?.en ?? []).join(', ') || null,
        network: system?.autonomous_system_organization ?? null,
        asn: system?.autonomous_system_number ?? null,
      }
    },
  }
}

async function openDatabase<T extends Response>(name: string, file: string | null): Promise<Reader<T> | null> {
  if (file === null) return null
  try {
    return await open<T>(file)
  } catch (error) {
    const { errno, code } = error as NodeJS.ErrnoException
    const reason = errno === undefined ? 'it is no MaxMind database' : code
    throw new ConfigurationError(
      `${name} cannot be read from ${file}: ${reason}. Name a .mmdb file, or leave ${name} out.`,
    )
  }
}

/** Returns null on a damaged database: the place is one line of a page, which must not fail because of it. */
function look<T extends Response>(database: Reader<T> | null, address: string): T | null {
  // In an IPv4-only database the library would look up the first four bytes of an IPv6 address.
  if (!database || (database.metadata.ipVersion === 4 && !isIPv4(address))) return null
  try {
    return database.get(address)
  } catch {
    return null
  }
}

/** Loopback, link-local, private and carrier-grade NAT ranges (RFC 6890): they have no location. */
const privateNetworks = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv6')
}

function isPrivate(address: string): boolean {
  return privateNetworks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
