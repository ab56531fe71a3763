# Configuration of the Muster agent. All *.hcl and *.json files of this folder are read, in byte order, later ones over earlier
# ones. Take away the marks from what this machine shall be, then: systemctl enable --now muster
#
# A server of three:
#
# name      = "s1" # the host's name if it is left out
# data_dir  = "/var/lib/muster"
# bind_addr = "10.0.0.1"
#
# tls { folder = "/etc/muster.d/tls" } # made by: muster tls bootstrap
#
# server {
#   enabled          = true
#   bootstrap_expect = 3
#   retry_join       = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
#   keyring_key_file = "/etc/muster.d/cluster.key" # of 32 random bytes, for instance: openssl rand -base64 32
# }
#
# A client agent:
#
# data_dir  = "/var/lib/muster"
# bind_addr = "10.0.0.7"
#
# tls { folder = "/etc/muster.d/tls" }
#
# client {
#   enabled    = true
#   retry_join = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
# }
