# Every block and attribute of a job file that is served.
variable "image" {
  type        = string
  default     = "redis:7"
  description = "What runs"
}

variable "datacenters" {
  type    = list(string)
  default = ["dc1"]
}

variable "replicas" {
  type    = number
  default = 3
}

locals {
  team  = "shop"
  owner = "${local.team}-${var.replicas}"
}

job "everything" {
  name        = "Everything"
  namespace   = "default"
  region      = "global"
  node_pool   = "default"
  type        = "service"
  priority    = 70
  all_at_once = false
  datacenters = var.datacenters

  meta {
    owner = local.owner
    count = 3
  }

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  constraint {
    attribute = "${attr.cpu.arch}"
    regexp    = "^(amd64|arm64)$"
  }

  constraint {
    distinct_hosts = true
  }

  constraint {
    distinct_property = "${meta.rack}"
    value             = "2"
  }

  affinity {
    attribute = "${node.class}"
    value     = "fast"
    weight    = -20
  }

  spread {
    attribute = "${node.datacenter}"
    weight    = 80
    target "dc1" {
      percent = 60
    }
    target "dc2" {
      percent = 40
    }
  }

  update {
    stagger           = "20s"
    max_parallel      = 2
    health_check      = "checks"
    min_healthy_time  = "11s"
    healthy_deadline  = "4m"
    progress_deadline = "8m"
    canary            = 1
    auto_revert       = true
    auto_promote      = true
  }

  migrate {
    max_parallel     = 2
    health_check     = "task_states"
    min_healthy_time = "12s"
    healthy_deadline = "3m"
  }

  reschedule {
    delay          = "40s"
    delay_function = "fibonacci"
    max_delay      = "2h"
    unlimited      = true
  }

  group "cache" {
    count                 = var.replicas
    shutdown_delay        = "2s"

    disconnect {
      lost_after = "1h30m"
      replace    = false
      reconcile  = "longest_running"
    }

    meta = { "dotted.name" = "x" }

    network {
      mode = "bridge"
      port "db" {
        to = 6379
      }
      port "admin" {
        static       = 8080
        host_network = "default"
      }
    }

    volume "data" {
      type      = "host"
      source    = "redis"
      read_only = true
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "20s"
      mode     = "delay"
    }

    update {
      canary = 2
    }

    scaling {
      enabled = false
      min     = 1
      max     = 10
      policy {
        cooldown = "1m"
        check "load" {
          query = "cpu"
          strategy "target-value" {
            target = 70
          }
        }
      }
    }

    ephemeral_disk {
      sticky  = false
      migrate = false
      size    = 500
    }

    service {
      name = "cache"
      port = "db"
      tags = ["primary", "${NOMAD_ALLOC_ID}"]
      meta {
        tier = "one"
      }
      tagged_addresses {
        wan = "192.0.2.7:80"
      }
      weights {
        passing = 10
        warning = 2
      }
      check_restart {
        limit = 3
        grace = "10s"
      }
      check {
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
      check {
        name     = "web"
        type     = "http"
        path     = "/health"
        port     = "admin"
        interval = "10s"
        timeout  = "2s"

        tls_server_name          = "web.example"
        failures_before_critical = 3
        failures_before_warning  = 2

        header {
          Authorization = ["Basic eA=="]
        }
      }
    }

    task "wait" {
      driver = "exec"
      lifecycle {
        hook    = "prestart"
        sidecar = false
      }
      config {
        command = "sleep"
        args    = [1, "${MODE}"]
      }
    }

    task "redis" {
      driver         = "docker"
      user           = "redis"
      leader         = true
      kill_timeout   = "30s"
      kill_signal    = "SIGINT"
      shutdown_delay = "1s"

      config {
        image = var.image
        ports = ["db"]
        mount {
          type = "bind"
        }
        mount {
          type = "tmpfs"
        }
        labels = {
          "a.b" = 1
        }
      }

      env {
        MODE = "fast"
        SIZE = 8
      }

      restart {
        attempts = 1
      }

      artifact {
        source      = "https://example.com/a.tgz"
        destination = "local/a"
        insecure    = true
        chown       = true
        options {
          checksum = "md5:d41d8cd98f00b204e9800998ecf8427e"
        }
      }

      template {
        destination   = "secrets/app.conf"
        change_mode   = "signal"
        change_signal = "sighup"
        splay         = "1s"
        perms         = "0600"
        data          = <<-EOT
          listen ${NOMAD_PORT_db}
          {{ range service "db" }}{{ .Address }}{{ end }}
          kept $${VAR:-x}
        EOT
      }

      template {
        destination = "local/hosts"
        data        = "{{ key \"hosts\" }}"
        change_mode = "script"
        uid         = 1000
        gid         = 0
        change_script {
          command       = "/bin/reload"
          args          = ["-f"]
          timeout       = "20s"
          fail_on_error = true
        }
      }

      template {
        destination = "local/once"
        data        = "x"
        once        = true
        wait {
          min = "5s"
          max = "1m"
        }
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      logs {
        max_files     = 3
        max_file_size = 15
      }

      resources {
        cpu    = 500
        memory = var.replicas * 100

        memory_max = 600
      }
    }
  }
}
