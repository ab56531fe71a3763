# A job as teams write it: one file for all stages, with values computed from a few variables.
variable "stage" {
  type    = string
  default = "staging"

  validation {
    condition     = contains(["staging", "production"], var.stage)
    error_message = "The stage is staging or production, not ${var.stage}."
  }
}

variable "image" {
  type = string

  validation {
    condition     = can(regex("^[a-z0-9./-]+:[0-9]+(\\.[0-9]+)*$", var.image))
    error_message = "An image has a version of numbers, as shop/web:1.4."
  }
}

variable "workers" {
  type = map(object({
    queue = string
    count = number
  }))
  default = {
    mail   = { queue = "mail", count = 1 }
    images = { queue = "media", count = 2 }
  }
}

variable "ports" {
  type    = set(string)
  default = ["metrics", "http"]
}

locals {
  production = var.stage == "production"
  version    = element(split(":", var.image), 1)
  upstreams  = [for host in range(1, 4) : cidrhost("10.20.0.0/24", host)]
  labels     = merge({ team = "shop", stage = var.stage }, local.production ? { pager = "on" } : {})
  env = {
    for key, value in { db_host = "db.${var.stage}.internal", log_level = local.production ? "warn" : "debug" } :
    upper(key) => value
  }
  names = join(",", sort([for name, worker in var.workers : name if worker.count > 0]))
}

job "shop" {
  name        = title(format("shop %s", var.stage))
  datacenters = distinct(concat(["dc1"], local.production ? ["dc1", "dc2"] : []))
  meta        = { for key, value in local.labels : "shop_${key}" => value }

  dynamic "constraint" {
    for_each = local.production ? { "$${attr.kernel.name}" = "linux", "$${node.class}" = "large" } : {}
    content {
      attribute = constraint.key
      value     = constraint.value
    }
  }

  group "web" {
    count = local.production ? max([for worker in values(var.workers) : worker.count]...) + 1 : 1

    network {
      dynamic "port" {
        for_each = var.ports
        labels   = [port.value]
        content {
          to = lookup({ http = 8080, metrics = 9100 }, port.value, 0)
        }
      }
    }

    dynamic "service" {
      for_each = var.ports
      iterator = each
      content {
        name     = "shop-${each.value}"
        provider = "consul"
        port     = each.key
        tags     = compact([var.stage, each.value == "http" ? "public" : "", replace(local.version, ".", "-")])

        dynamic "check" {
          for_each = each.value == "http" ? ["/health"] : []
          content {
            type     = "http"
            path     = check.value
            interval = "${local.production ? 5 : 15}s"
            timeout  = "2s"
          }
        }
      }
    }

    task "web" {
      driver = "docker"

      config {
        image = var.image
        args  = flatten(["serve", [for name in var.ports : ["--port", "${name}=$${NOMAD_PORT_${name}}"]]])

        dynamic "mount" {
          for_each = ["cache", "tmp"]
          content {
            type   = "tmpfs"
            target = "/var/${mount.value}"
          }
        }
      }

      env = merge(local.env, { WORKERS = local.names, SELF = "${NOMAD_ADDR_http}", ZONE = format("%s-%02d", "${node.datacenter}", 7) })

      template {
        destination = "local/upstreams.conf"
        data        = <<-EOT
          # %{ if local.production }live%{ else }not live%{ endif }
          %{ for index, host in local.upstreams ~}
          server ${host}:8080 weight=${index + 1};
          %{ endfor ~}
          {{ key "shop/${var.stage}/color" }} %%{kept} $${kept}
        EOT
      }

      template {
        destination = "local/settings.json"
        data        = jsonencode({ stage = var.stage, queues = var.workers[*], limits = { for name, worker in var.workers : worker.queue => worker.count... } })
      }

      resources {
        cpu    = local.production ? pow(2, 10) : 256
        memory = ceil(256 * 1.5)
      }
    }
  }

  dynamic "group" {
    for_each = var.workers
    labels   = ["worker-${group.key}"]
    content {
      count = group.value.count

      task "work" {
        driver = "docker"
        config {
          image = var.image
          args  = ["work", group.value.queue, substr(sha256(group.key), 0, 8)]
        }
      }
    }
  }
}
